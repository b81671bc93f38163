/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_NAME_H
#define PERFMAP_NAMES_NAME_H
/*
 * What a raw name of a perf map says to a .NET developer. Pure, no state, no threads. Input is
 * hostile: parsed by length, output bounded; control characters are kept (NUL becomes '?'), the
 * outputs escape them.
 *
 * [instance ]<return type> [<assembly>] <Owner>::<method>(<arguments>)[<Tier>]
 *   ->  display "Owner.method", assembly "assembly", tier "Tier"
 * What names no assembly is no name of .NET, and stays as it is: py::tax.<locals>.<genexpr>.
 *
 * One rule for all: as the source has it, without arguments. Overloads share a display name; so do
 * all instantiations over reference types, whose code is one. Tiers of one method give identical
 * display and assembly. Generic arguments of methods are not in the raw name.
 * Ns.Outer`2+Inner`1[System.Int32,System.Byte,System.Double]::Gen
 *                                                 Ns.Outer<int,byte>.Inner<double>.Gen
 * Ns.Box`1[System.__Canon]::Get, Ns.Box`1::Get    Ns.Box<T>.Get, with several T1, T2, ...
 * Ns.P+<Work>d__3::MoveNext                       Ns.P.Work (async); iterators "(iterator)",
 *                                                 async iterators "(async)"
 * Ns.P+<>c__DisplayClass6_0::<Main>b__1           Ns.P.Main.<lambda 2>: the second lambda or
 *                                                 local function of Main; the first is <lambda>
 * Ns.P+<>c+<<Main>b__0_0>d::MoveNext              Ns.P.Main.<lambda> (async)
 * Ns.P::<Main>g__Local|0                          Ns.P.Main.Local
 * Program::<Main>$                                Program.Main
 * Ns.Thing::My.Space.IThing.Do                    Ns.Thing.IThing.Do
 * Ns.Thing::get_Value, get_Item, add_Changed      Ns.Thing.Value.get, this[].get, Changed.add
 * Ns.Thing::op_Addition                           Ns.Thing.operator +
 * Ns.Thing::.ctor                                 Ns.Thing..ctor (as in stack traces)
 * Ns.<File>F0A1B2C3...__Hidden::Do                Ns.Hidden.Do (file-local type)
 * <>z__ReadOnlyArray`1, <>f__AnonymousType0`2, <PrivateImplementationDetails>
 *                 <collection expression><T>, <anonymous type><int,int>, <compiler>
 * fs: Shop+total@7::Invoke                        Shop.total.<lambda@7>
 * int32 modreq([x]System.Threading.Tasks.Task`1) [a] P::Work      P.Work (async): runtime async
 * vb: Cart+_Closure$__2-0::_Lambda$__0            Cart.<lambda 2-0>: of the method of that number
 * dynamicClass::InvokeStub_Regex.IsMatch          <reflection>.Regex.IsMatch
 * dynamicClass::IdGetter (DynamicMethod)          <dynamic>.IdGetter
 * dynamicClass::lambda_method3 (expression tree)  <expression>.lambda_method3
 * stubs, dynamicClass::IL_STUB_PInvoke            what they are for: stub.h
 */
#include <stdbool.h>
#include <stddef.h>

/* Room that holds nearly every name seen (longest raw name in a stress test: 1,439 bytes). */
#define PERFMAP_NAME_BYTES 4096u

struct perfmap_name {
	const char *display;  /* in the caller's buffer, NUL-terminated, never empty */
	const char *assembly; /* in the caller's buffer, NUL-terminated; "" = not told */
	const char *tier; /* static string: "QuickJitted", "OptimizedTier1", ...; "" = not told */
	size_t raw_len;	  /* bytes of the raw name without its tier tag: equal over all tiers */
	bool is_stub;	  /* a stub of the runtime, no method; IL stubs, too */
	bool is_async;	  /* body of an async method */
	bool is_iterator; /* body of an iterator method */
	bool is_dynamic;  /* DynamicMethod, expression tree or IL stub (owner dynamicClass) */
	bool is_cut;	  /* display or assembly did not fit and end in "..." */
};

/*
 * Splits raw[0..len) into its parts. Strings of ret_name live in buf until the caller reuses it.
 * Never fails: a name that has not the form above is its own display. cap must be at least 64;
 * PERFMAP_NAME_BYTES is a good value.
 */
void perfmap_name_parse(const char *raw, size_t len, char *buf, size_t cap,
			struct perfmap_name *ret_name);

/*
 * True for code that no service's developer wrote: runtime stubs, and methods of System.*,
 * Microsoft.*, mscorlib, netstandard, WindowsBase. Everything else is the application and its
 * libraries.
 */
bool perfmap_is_framework(const struct perfmap_name *name);
#endif
