/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_LAYOUT_H
#define PERFMAP_MEMORY_LAYOUT_H
/*
 * Where the fields of a runtime's structures lie, out of the JSON that it publishes. Hostile: every
 * offset is bounded, whatever else is in it is passed over. Pure.
 *
 * Source: dotnet/runtime docs/design/datacontracts/data_descriptor.md, "Physical JSON descriptor".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFMAP_LAYOUT_BYTES_MAX  (256u << 10) /* of the JSON; .NET 10 has 10,563 */
#define PERFMAP_LAYOUT_OFFSET_MAX 65535u

/* Field, its type and name there ("!" is the size of the type), whether a name can be had
 * without. */
/* clang-format off */
#define PERFMAP_LAYOUT_FIELDS(F) \
	F(MAP_TOP, "RangeSectionMap", "TopLevelData", false) \
	F(FRAGMENT_BEGIN, "RangeSectionFragment", "RangeBegin", false) \
	F(FRAGMENT_END, "RangeSectionFragment", "RangeEndOpen", false) \
	F(FRAGMENT_SECTION, "RangeSectionFragment", "RangeSection", false) \
	F(FRAGMENT_NEXT, "RangeSectionFragment", "Next", false) \
	F(SECTION_BEGIN, "RangeSection", "RangeBegin", false) \
	F(SECTION_HEAP, "RangeSection", "HeapList", false) \
	F(SECTION_IMAGE, "RangeSection", "R2RModule", false) \
	F(SECTION_FLAGS, "RangeSection", "Flags", true) \
	F(HEAP_START, "CodeHeapListNode", "StartAddress", false) \
	F(HEAP_END, "CodeHeapListNode", "EndAddress", false) \
	F(HEAP_BASE, "CodeHeapListNode", "MapBase", false) \
	F(HEAP_MAP, "CodeHeapListNode", "HeaderMap", false) \
	F(HEADER_METHOD, "RealCodeHeader", "MethodDesc", false) \
	F(HEADER_UNWIND_CNT, "RealCodeHeader", "NumUnwindInfos", false) \
	F(HEADER_UNWIND, "RealCodeHeader", "UnwindInfos", false) \
	F(FUNCTION_BYTES, "RuntimeFunction", "!", false) \
	F(FUNCTION_BEGIN, "RuntimeFunction", "BeginAddress", false) \
	F(FUNCTION_END, "RuntimeFunction", "EndAddress", true) \
	F(FUNCTION_UNWIND, "RuntimeFunction", "UnwindData", false) \
	F(METHOD_INDEX, "MethodDesc", "ChunkIndex", false) \
	F(METHOD_FLAGS, "MethodDesc", "Flags", false) \
	F(METHOD_TOKEN, "MethodDesc", "Flags3AndTokenRemainder", false) \
	F(METHOD_CODE, "MethodDesc", "CodeData", true) \
	F(CHUNK_BYTES, "MethodDescChunk", "!", false) \
	F(CHUNK_TYPE, "MethodDescChunk", "MethodTable", false) \
	F(CHUNK_TOKEN, "MethodDescChunk", "FlagsAndTokenRange", false) \
	F(SIGNATURE, "StoredSigMethodDesc", "Sig", false) \
	F(SIGNATURE_BYTES, "StoredSigMethodDesc", "cSig", false) \
	F(DYNAMIC_FLAGS, "StoredSigMethodDesc", "ExtendedFlags", false) \
	F(DYNAMIC_NAME, "DynamicMethodDesc", "MethodName", false) \
	F(METHOD_BYTES, "MethodDesc", "!", true) \
	F(INSTANCE_BYTES, "InstantiatedMethodDesc", "!", true) \
	F(SLOT_BYTES, "NonVtableSlot", "!", true) \
	F(IMPLEMENTS_BYTES, "MethodImpl", "!", true) \
	F(NATIVE_BYTES, "NativeCodeSlot", "!", true) \
	F(ASYNC_SIGNATURE, "AsyncMethodData", "Signature", true) \
	F(TYPE_FLAGS, "MethodTable", "MTFlags", false) \
	F(TYPE_BYTES, "MethodTable", "BaseSize", true) \
	F(TYPE_TOKEN, "MethodTable", "MTFlags2", false) \
	F(TYPE_CLASS, "MethodTable", "EEClassOrCanonMT", false) \
	F(TYPE_MODULE, "MethodTable", "Module", false) \
	F(TYPE_ARGUMENTS, "MethodTable", "PerInstInfo", false) \
	F(ARGUMENTS_CNT, "GenericsDictInfo", "NumTypeArgs", false) \
	F(ARGUMENTS_LISTS, "GenericsDictInfo", "NumDicts", false) \
	F(ARRAY_RANK, "ArrayClass", "Rank", true) \
	F(OTHER_KIND, "TypeDesc", "TypeAndFlags", false) \
	F(OTHER_OF, "ParamTypeDesc", "TypeArg", false) \
	F(POINTER_CNT, "FnPtrTypeDesc", "NumArgs", true) \
	F(POINTER_TYPES, "FnPtrTypeDesc", "RetAndArgTypes", true) \
	F(MODULE_BASE, "Module", "Base", false) \
	F(MODULE_FLAGS, "Module", "Flags", true) \
	F(MODULE_NAME, "Module", "SimpleName", true) \
	F(MODULE_PATH, "Module", "Path", true) \
	F(MODULE_FILE, "Module", "FileName", true) \
	F(MODULE_ASSEMBLY, "Module", "PEAssembly", true) \
	F(MODULE_READY, "Module", "ReadyToRunInfo", true) \
	F(READY_HEADER, "ReadyToRunInfo", "ReadyToRunHeader", true) \
	F(READY_COMPOSITE, "ReadyToRunInfo", "CompositeInfo", true) \
	F(READY_CNT, "ReadyToRunInfo", "NumRuntimeFunctions", true) \
	F(READY_FUNCTIONS, "ReadyToRunInfo", "RuntimeFunctions", true) \
	F(READY_COLD_CNT, "ReadyToRunInfo", "NumHotColdMap", true) \
	F(READY_METHODS, "ReadyToRunInfo", "EntryPointToMethodDescMap", true) \
	F(HASH_BUCKETS, "HashMap", "Buckets", true) \
	F(BUCKET_BYTES, "Bucket", "!", true) \
	F(BUCKET_KEYS, "Bucket", "Keys", true) \
	F(BUCKET_VALUES, "Bucket", "Values", true) \
	F(CODE_VERSIONS, "MethodDescCodeData", "VersioningState", true) \
	F(VERSIONS_FIRST, "MethodDescVersioningState", "NativeCodeVersionNode", true) \
	F(VERSION_NEXT, "NativeCodeVersionNode", "Next", true) \
	F(VERSION_CODE, "NativeCodeVersionNode", "NativeCode", true) \
	F(VERSION_METHOD, "NativeCodeVersionNode", "MethodDesc", true) \
	F(VERSION_IL, "NativeCodeVersionNode", "ILVersionId", true) \
	F(VERSION_FLAGS, "NativeCodeVersionNode", "Flags", true) \
	F(VERSION_TIER, "NativeCodeVersionNode", "OptimizationTier", true) \
	F(THREAD_ID, "Thread", "Id", true) \
	F(THREAD_TID, "Thread", "OSId", true) \
	F(THREAD_NEXT, "Thread", "LinkNext", true) \
	F(THREADS_FIRST, "ThreadStore", "FirstThreadLink", true) \
	F(BLOCK_LOCK, "SyncBlock", "Lock", true)
/* clang-format on */

enum perfmap_layout_field {
#define PERFMAP_LAYOUT_ENUM(id, type, name, optional) PERFMAP_##id,
	PERFMAP_LAYOUT_FIELDS(PERFMAP_LAYOUT_ENUM)
#undef PERFMAP_LAYOUT_ENUM
		PERFMAP_LAYOUT_CNT
};

#define PERFMAP_LAYOUT_NONE UINT32_MAX

struct perfmap_layout {
	uint32_t at[PERFMAP_LAYOUT_CNT]; /* offset, or size; PERFMAP_LAYOUT_NONE: not told */
	uint32_t map_index;		 /* in the array of pointers: of the code range map */
	uint32_t threads_index;		 /* the same, of the list of threads; 0 = not told */
	uint32_t token_bits;		 /* of a method's token that stand with it */
	uint32_t method_alignment;
	uint32_t stub_last;    /* a code header up to that is a kind of stub */
	uint32_t array_bytes;  /* of an array without bounds and elements; 0 = not told */
	uint32_t bucket_slots; /* of a hash; 0 = not told */
	/* versions of contracts, as .NET 10 counts them; 0 = not there */
	uint32_t execution_manager, type_system, loader;
	bool is_arm64;
	bool hides_map; /* it does not say where the map of code ranges is */
};

/* 0; -EBADMSG: no such JSON; -ENOTSUP: what names need is not in it. */
int perfmap_layout_parse(const char *json, size_t len, struct perfmap_layout *ret_layout);

/* Whether it may be one that was parsed: of whom it was kept by cannot be trusted. */
bool perfmap_layout_is_sound(const struct perfmap_layout *layout);

static inline bool perfmap_layout_has(const struct perfmap_layout *l, enum perfmap_layout_field f)
{
	return l->at[f] != PERFMAP_LAYOUT_NONE;
}
#endif
