/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/stub.h"

static const struct {
	const char *part, *group;
} groups[] = {
	/* The first one that occurs decides. IL_STUB_AsyncResume_ ends in the name of a method. */
	{"IL_STUB_AsyncResume", "[async resumption]"},
	{"WriteBarrier", "[write barrier]"},
	{"VSD_", "[interface dispatch]"},
	{"ResolveStub", "[interface dispatch]"},
	{"DispatchStub", "[interface dispatch]"},
	{"LookupStub", "[interface dispatch]"},
	{"VTableCallStub", "[interface dispatch]"},
	{"VTableStub", "[interface dispatch]"},
	{"DictionaryLookup", "[generic look-up]"},
	{"GenericLookup", "[generic look-up]"},
	{"JIT_New", "[allocation helper]"},
	{"JIT_Box", "[allocation helper]"},
	{"TrialAlloc", "[allocation helper]"},
	{"AllocHelper", "[allocation helper]"},
	{"Delegate", "[delegate call]"},
	{"Shuffle", "[delegate call]"},
	{"PInvoke", "[P/Invoke marshalling]"},
	{"NDirect", "[P/Invoke marshalling]"},
	{"Marshal", "[P/Invoke marshalling]"},
	{"UMEntryThunk", "[P/Invoke marshalling]"},
	{"UMThunk", "[P/Invoke marshalling]"},
	{"COM", "[P/Invoke marshalling]"},
	{"MethodCallThunk", "[call stub]"},
	{"Precode", "[call stub]"},
	{"PRECODE", "[call stub]"},
	{"CallCounting", "[call stub]"},
	{"Jump", "[call stub]"},
	{"Instantiating", "[call stub]"},
	{"Unboxing", "[call stub]"},
	{"TailCall", "[call stub]"},
	{"VirtualStatic", "[call stub]"},
	{"DynamicHelper", "[runtime helper]"},
	{"IL_STUB_Array", "[runtime helper]"},
};

const char *perfmap_stub_group(struct perfmap_span name)
{
	size_t i;

	/* What can be told stands near the front. */
	if (name.len > 256)
		name.len = 256;
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (span_holds(name, groups[i].part))
			return groups[i].group;
	}
	return "[runtime stub]";
}
