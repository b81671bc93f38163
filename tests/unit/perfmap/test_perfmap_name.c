/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "perfmap/names/name.h"

static struct perfmap_name parse(const char *raw, size_t len, char buf[PERFMAP_NAME_BYTES])
{
	struct perfmap_name name;

	perfmap_name_parse(raw, len, buf, PERFMAP_NAME_BYTES, &name);
	return name;
}

struct row {
	const char *raw, *display, *assembly, *tier;
};

static void check_rows(const struct row *rows, size_t cnt)
{
	char buf[PERFMAP_NAME_BYTES];
	size_t i;

	for (i = 0; i < cnt; i++) {
		struct perfmap_name n = parse(rows[i].raw, strlen(rows[i].raw), buf);

		cr_expect_str_eq(n.display, rows[i].display, "%s\n   gives %s", rows[i].raw,
				 n.display);
		cr_expect_str_eq(n.assembly, rows[i].assembly, "%s\n   gives assembly %s",
				 rows[i].raw, n.assembly);
		cr_expect_str_eq(n.tier, rows[i].tier, "%s\n   gives tier %s", rows[i].raw, n.tier);
		cr_expect_not(n.is_cut);
	}
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

Test(perfmap_name, reads_plain_methods)
{
	static const struct row rows[] = {
		{"void [names] My.Name.Space.P::Main(string[])[QuickJitted]",
		 "My.Name.Space.P.Main", "names", "QuickJitted"},
		{"instance void [app] My.Thing::.ctor()[OptimizedTier1]", "My.Thing..ctor", "app",
		 "OptimizedTier1"},
		{"void [app] My.Thing::.cctor()", "My.Thing..cctor", "app", ""},
		{"bool [System.Private.CoreLib] Interop+Kernel32::SetEvent(class X)",
		 "Interop.Kernel32.SetEvent", "System.Private.CoreLib", ""},
		{"class [System.Runtime]System.Collections.Generic.IEnumerable`1<!!0> "
		 "[System.Linq] "
		 "System.Linq.Enumerable::Where(class [System.Runtime]System.Func`2<!!0,bool>)",
		 "System.Linq.Enumerable.Where", "System.Linq", ""},
		{"valuetype System.Threading.Lock/ThreadId [System.Private.CoreLib] "
		 "System.Threading.Lock::EnterAndGetCurrentThreadId()[InstrumentedTierOptimized]",
		 "System.Threading.Lock.EnterAndGetCurrentThreadId", "System.Private.CoreLib",
		 "InstrumentedTierOptimized"},
		{"int32 [shop] Shop.Orders::adds the tax; twice (2026)(int32)[OptimizedTier1]",
		 "Shop.Orders.adds the tax; twice (2026)", "shop", "OptimizedTier1"},
		{"void [shop] Shop.Orders::(odd) half(method void *(int32))",
		 "Shop.Orders.(odd) half", "shop", ""},
		{"bool [a] dynamicClass::Regex1_TryMatch_(a|b)c(class System.X)",
		 "<dynamic>.Regex1_TryMatch_(a|b)c", "a", ""},
		{"instance int32[] [app] X::Get(int32[0...,0...],method void *(int32))", "X.Get",
		 "app", ""},
		{"void [My App] My.X::Go()", "My.X.Go", "My App", ""},
		{"T [a] X::op_Implicit(y::z)", "X.implicit operator", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, folds_every_known_tier_and_nothing_else)
{
	static const struct row rows[] = {
		{"void [a] X::Y()[QuickJitted]", "X.Y", "a", "QuickJitted"},
		{"void [a] X::Y()[InstrumentedTier]", "X.Y", "a", "InstrumentedTier"},
		{"void [a] X::Y()[InstrumentedTierOptimized]", "X.Y", "a",
		 "InstrumentedTierOptimized"},
		{"void [a] X::Y()[OptimizedTier1]", "X.Y", "a", "OptimizedTier1"},
		{"void [a] X::Y()[OptimizedTier1OSR]", "X.Y", "a", "OptimizedTier1OSR"},
		{"void [a] X::Y()[Optimized]", "X.Y", "a", "Optimized"},
		{"void [a] X::Y()[MinOptJitted]", "X.Y", "a", "MinOptJitted"},
		{"void [a] X::Y()[PreJIT]", "X.Y", "a", "PreJIT"},
		{"void [a] X::Y()[PreJit-cold]", "X.Y", "a", "PreJit-cold"},
		{"void [a] X::Y()[Unknown]", "X.Y", "a", "Unknown"},
		{"void [a] X::Y()[Tier0]", "X.Y", "a", ""},
		{"void [a] X::Y()", "X.Y", "a", ""},
		{"[Optimized]", "[Optimized]", "", ""},
	};
	char buf[PERFMAP_NAME_BYTES];
	size_t i;

	CHECK(rows);
	/* The raw form without its tier is one and the same. */
	for (i = 0; i < 10; i++)
		cr_expect_eq(parse(rows[i].raw, strlen(rows[i].raw), buf).raw_len,
			     strlen("void [a] X::Y()"), "%s", rows[i].raw);
}

Test(perfmap_name, writes_generics_as_csharp_does)
{
	static const struct row rows[] = {
		{"string [names] My.Outer`2+Inner`1[System.Int32,System.__Canon,System.Double]::"
		 "Gen(!0,!1,!2,!!0)[QuickJitted]",
		 "My.Outer<int,T2>.Inner<double>.Gen", "names", "QuickJitted"},
		{"instance bool [System.Private.CoreLib] System.Collections.Generic.Dictionary`2+"
		 "Enumerator[My.Shop.Key+Part,System.Int32]::MoveNext()",
		 "System.Collections.Generic.Dictionary<Key.Part,int>.Enumerator.MoveNext",
		 "System.Private.CoreLib", ""},
		{"void [a] "
		 "B`1[System.Collections.Generic.KeyValuePair`2[System.String,System.Byte[]]"
		 "]::Go()",
		 "B<KeyValuePair<string,byte[]>>.Go", "a", ""},
		{"instance void [a] Box`1::Get()", "Box<T>.Get", "a", ""},
		{"instance void [a] Map`2+Node`1::Get()", "Map<T1,T2>.Node<T>.Get", "a", ""},
		{"void [a] L`1[[System.Int32, System.Private.CoreLib]]::Add(!0)", "L<int>.Add", "a",
		 ""},
		{"void [a] L`1[My.X+Y[]]::Add(!0)", "L<X.Y[]>.Add", "a", ""},
		{"void [a] L`1[System.Int32[,]]::Add(!0)", "L<int[,]>.Add", "a", ""},
		{"void [System.Private.CoreLib] System.Runtime.CompilerServices."
		 "AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[System.Threading.Tasks."
		 "VoidTaskResult,Program+<Work>d__3]::MoveNext()",
		 "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<VoidTaskResult>."
		 "AsyncStateMachineBox<Program.Work>.MoveNext",
		 "System.Private.CoreLib", ""},
		{"void [a] Odd`1[System.Int32,System.Int64]::Go()", "Odd<int,long>.Go", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, reads_state_machines_as_the_method)
{
	static const struct row rows[] = {
		{"instance void [a] Ns.P+<Work>d__3::MoveNext()[QuickJitted]", "Ns.P.Work (async)",
		 "a", "QuickJitted"},
		{"instance bool [a] Ns.P+<Iter>d__5::MoveNext()", "Ns.P.Iter (iterator)", "a", ""},
		{"instance void [a] Ns.P+<Work>d__3`1[System.__Canon]::MoveNext()",
		 "Ns.P.Work<T> (async)", "a", ""},
		{"instance void [a] Ns.P+<Work>d__3::SetStateMachine(class X)",
		 "Ns.P.Work.SetStateMachine", "a", ""},
		{"instance int32 [a] Ns.P+<I>d__5::System.Collections.Generic.IEnumerator<System."
		 "Int32>.get_Current()",
		 "Ns.P.I.IEnumerator<int>.Current.get", "a", ""},
		{"instance void [app] Program+<<Main>$>d__0::MoveNext()", "Program.Main (async)",
		 "app", ""},
		{"instance void [app] Program+<>c+<<<Main>$>b__0_3>d::MoveNext()",
		 "Program.Main.<lambda 4> (async)", "app", ""},
		{"instance void [app] Program+<<<Main>$>g__LocalAsync|0_2>d::MoveNext()",
		 "Program.Main.LocalAsync (async)", "app", ""},
		{"instance bool [a] Ns.T+<System-Collections-Generic-IEnumerable<System-Int32>-"
		 "GetEnumerator>d__7::MoveNext()",
		 "Ns.T.IEnumerable<int>.GetEnumerator (iterator)", "a", ""},
		{"instance void [vb] Shop.Cart+VB$StateMachine_3_Load::MoveNext()",
		 "Shop.Cart.Load (async)", "vb", ""},
		{"instance void [fs] Shop+load@12-1::MoveNext()", "Shop.load (async)", "fs", ""},
	};
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name n;

	CHECK(rows);
	n = parse(rows[0].raw, strlen(rows[0].raw), buf);
	cr_expect(n.is_async && !n.is_iterator);
	n = parse(rows[1].raw, strlen(rows[1].raw), buf);
	cr_expect(n.is_iterator && !n.is_async);
	n = parse(rows[3].raw, strlen(rows[3].raw), buf);
	cr_expect_not(n.is_async);
}

Test(perfmap_name, reads_lambdas_and_local_functions_as_part_of_their_method)
{
	static const struct row rows[] = {
		{"instance int32 [a] My.P+<>c__DisplayClass6_0::<Main>b__1(int32)",
		 "My.P.Main.<lambda 2>", "a", ""},
		{"instance int32 [a] My.P+<>c::<Main>b__0_1(int32)", "My.P.Main.<lambda 2>", "a",
		 ""},
		{"instance int32 [a] My.P+<>c::<Main>b__0_0(int32)", "My.P.Main.<lambda>", "a", ""},
		{"instance int32 [a] My.P+<>c::<Main>b__0#1_7#2(int32)", "My.P.Main.<lambda>", "a",
		 ""},
		{"instance int32 [a] My.P+<>c__DisplayClass6_0::<Main>g__Local|0(int32)",
		 "My.P.Main.Local", "a", ""},
		{"int32 [a] My.P::<Main>g__Local|0_0(int32)", "My.P.Main.Local", "a", ""},
		{"instance !0 [a] "
		 "T+<>c__DisplayClass10_0`2[System.Int32,System.Double]::<Gen>b__0()",
		 "T.Gen.<lambda>", "a", ""},
		{"void [hello] Program::<Main>$(string[])[QuickJitted]", "Program.Main", "hello",
		 "QuickJitted"},
		{"void [hello] Program::<Main>(string[])", "Program.Main", "hello", ""},
		{"int32 [a] Program::<<Main>$>g__local|0_0(int32)", "Program.Main.local", "a", ""},
		{"instance int32 [a] Program+<>c::<<Main>$>b__0_1(int32)",
		 "Program.Main.<lambda 2>", "a", ""},
		{"void [a] Program+<>c::.cctor()", "Program.<closure>..cctor", "a", ""},
		{"instance void [a] P+<>c::<.ctor>b__0_0()", "P..ctor.<lambda>", "a", ""},
		{"instance int32 [a] P+<>c::<Ns.IThing.Do>b__0_0()", "P.IThing.Do.<lambda>", "a",
		 ""},
		{"instance int32 [vb] Cart+_Closure$__::_Lambda$__1-0()", "Cart.<lambda 1-0>", "vb",
		 ""},
		{"instance int32 [fs] Shop+total@7::Invoke(int32)", "Shop.total.<lambda@7>", "fs",
		 ""},
		{"instance class Rec [a] Rec::<Clone>$()", "Rec.Clone", "a", ""},
		{"int32 [a] <Program>F0123456789ABCDEF__Hidden::Do()", "Hidden.Do", "a", ""},
		{"instance !1 [a] <>f__AnonymousType1`2[System.Int32,System.Int32]::get_y()",
		 "<anonymous type><int,int>.y.get", "a", ""},
		{"uint32 [a] <PrivateImplementationDetails>::ComputeStringHash(string)",
		 "<compiler>.ComputeStringHash", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, shortens_explicit_interface_implementations)
{
	static const struct row rows[] = {
		{"instance int32 [names] My.Space.Thing::My.Space.IThing.Do(int32*,method void "
		 "*(int32),native int,int32[0...,0...],int32[][])",
		 "My.Space.Thing.IThing.Do", "names", ""},
		{"bool [c] System.Int32::System.Numerics.IEqualityOperators<System.Int32,System."
		 "Int32,System.Boolean>.op_Equality(int32,int32)",
		 "System.Int32.IEqualityOperators<int,int,bool>.operator ==", "c", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, reads_dynamic_methods)
{
	static const struct row rows[] = {
		{"int32 [names] dynamicClass::IdGetter(object)[Optimized]", "<dynamic>.IdGetter",
		 "names", "Optimized"},
		{"System.Threading.Tasks.Task /* MT: 0x7fc455fb6050 */ [Anonymously Hosted "
		 "DynamicMethods Assembly] dynamicClass::lambda_method1(class X)",
		 "<expression>.lambda_method1", "Anonymously Hosted DynamicMethods Assembly", ""},
		{"int32 [a] dynamicClass::with\nnewline(object)[Optimized]",
		 "<dynamic>.with\nnewline", "a", "Optimized"},
		{"int32 [a] dynamicClass::any.text <at> all(object)", "<dynamic>.any.text <at> all",
		 "a", ""},
		{"object [System.Private.CoreLib] dynamicClass::InvokeStub_Regex.IsMatch(object,"
		 "System.Span`1 /* MT: 0x7f3e7c93fe30 */<object>)[Optimized]",
		 "<reflection>.Regex.IsMatch", "System.Private.CoreLib", "Optimized"},
		{"int32 [Anonymously Hosted DynamicMethods Assembly] dynamicClass::CallSite.Target("
		 "System.Runtime.CompilerServices.Closure /* MT: 0x7f2e */,object)",
		 "<dynamic>.CallSite.Target", "Anonymously Hosted DynamicMethods Assembly", ""},
		{"int32 [a] dynamicClass::half a na", "<dynamic>.half a na", "a", ""},
	};
	char buf[PERFMAP_NAME_BYTES];

	CHECK(rows);
	cr_expect(parse(rows[0].raw, strlen(rows[0].raw), buf).is_dynamic);
}

Test(perfmap_name, groups_stubs_by_what_they_are_for)
{
	static const struct row rows[] = {
		/* As .NET 10 writes them. */
		{"stub CreateHelper<DynamicHelper>", "[runtime helper]", "", ""},
		{"stub CreateReturnConst<DynamicHelper>", "[runtime helper]", "", ""},
		{"stub CreateDictionaryLookupHelper<DynamicHelper>", "[generic look-up]", "", ""},
		{"stub ReportStubBlock<MethodCallThunk>", "[call stub]", "", ""},
		{"stub ReportStubBlock<VSD_ResolveStub>", "[interface dispatch]", "", ""},
		{"stub ReportStubBlock<VSD_LookupStub>", "[interface dispatch]", "", ""},
		{"stub ReportStubBlock<VSD_DispatchStub>", "[interface dispatch]", "", ""},
		{"stub ReportStubBlock<VSD_VTableStub>", "[interface dispatch]", "", ""},
		{"stub ReportStubBlock<Unknown>", "[runtime stub]", "", ""},
		{"stub InitThreadManagerPerfMapData<JIT_CopiedWriteBarriers>", "[write barrier]",
		 "", ""},
		{"stub WriteBarrier<JIT_WriteBarrier>", "[write barrier]", "", ""},
		{"stub Link<InstantiatingStub>", "[call stub]", "", ""},
		{"stub Link<DelegateShuffleThunk>", "[delegate call]", "", ""},
		/* 8 and 9 number them. */
		{"stub<17> GenerateLookupStub<GenerateLookupStub>", "[interface dispatch]", "", ""},
		{"stub<18> GenerateResolveStub<GenerateResolveStub>", "[interface dispatch]", "",
		 ""},
		{"stub<19> GenerateDispatchStub<GenerateDispatchStub>", "[interface dispatch]", "",
		 ""},
		{"stub<20> GenerateVTableCallStub<GenerateVTableCallStub>", "[interface dispatch]",
		 "", ""},
		{"stub<3> Allocate<VSD_ResolveStub>", "[interface dispatch]", "", ""},
		{"stub<4> AllocateTemporaryEntryPoints<PRECODE_FIXUP>", "[call stub]", "", ""},
		{"stub<5> AllocateTemporaryEntryPoints<PRECODE_STUB>", "[call stub]", "", ""},
		{"stub<6> Init<UMEntryThunk>", "[P/Invoke marshalling]", "", ""},
		{"stub<7> emitTrialAllocateSFastMP<JIT_TrialAllocSFastMP>", "[allocation helper]",
		 "", ""},
		{"stub<", "[runtime stub]", "", ""},
		{"stub ", "[runtime stub]", "", ""},
		{"void [System.Private.CoreLib] dynamicClass::IL_STUB_PInvoke(int32)[Optimized]",
		 "[P/Invoke marshalling]", "", "Optimized"},
		{"void [App] dynamicClass::IL_STUB_ReversePInvoke(int32)[Optimized]",
		 "[P/Invoke marshalling]", "", "Optimized"},
		{"void [App] dynamicClass::IL_STUB_StructMarshal(native int)",
		 "[P/Invoke marshalling]", "", ""},
		{"instance void [App] dynamicClass::IL_STUB_MulticastDelegate_Invoke()",
		 "[delegate call]", "", ""},
		{"instance void [App] dynamicClass::IL_STUB_WrapperDelegate_Invoke()",
		 "[delegate call]", "", ""},
		{"instance void [App] dynamicClass::IL_STUB_UnboxingStub()", "[call stub]", "", ""},
		{"instance void [App] dynamicClass::IL_STUB_InstantiatingStub()", "[call stub]", "",
		 ""},
		{"void [App] dynamicClass::IL_STUB_StoreTailCallArgs()", "[call stub]", "", ""},
		{"instance void [App] dynamicClass::IL_STUB_Array(int32)", "[runtime helper]", "",
		 ""},
		{"object [cs] dynamicClass::IL_STUB_AsyncResume_PInvokeDelegate_Optimized(object)",
		 "[async resumption]", "", ""},
		{"void [App] dynamicClass::IL_STUB_Novelty()", "[runtime stub]", "", ""},
	};
	char buf[PERFMAP_NAME_BYTES];
	size_t i;

	CHECK(rows);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(parse(rows[i].raw, strlen(rows[i].raw), buf).is_stub, "%s", rows[i].raw);
}

Test(perfmap_name, reads_members_as_they_are_declared)
{
	static const struct row rows[] = {
		{"instance uint64 [a] Ns.Thing::get_Value()", "Ns.Thing.Value.get", "a", ""},
		{"instance void [a] Ns.Thing::set_Value(uint64)", "Ns.Thing.Value.set", "a", ""},
		{"instance void modreq(System.Runtime.CompilerServices.IsExternalInit) [a] "
		 "Ns.Advice`1[System.Double]::set_Limits(class L`1<!0>)",
		 "Ns.Advice<double>.Limits.set", "a", ""},
		{"instance void* [a] Ns.Thing::get_Place()", "Ns.Thing.Place.get", "a", ""},
		/* Of a precompiled method no more is known. */
		{"[a] Ns.Thing::set_Value", "Ns.Thing.Value.set", "a", ""},
		{"[a] Ns.Thing::get_Item", "Ns.Thing.this[].get", "a", ""},
		{"bool [a] Ns.P+<Rows>d__2::MoveNext", "Ns.P.Rows (iterator)", "a", ""},
		{"[a] Ns.P+<Load>d__3::MoveNext", "Ns.P.Load (async)", "a", ""},
		{"instance uint64 [a] Ns.Thing::get_Item(int32)", "Ns.Thing.this[].get", "a", ""},
		{"instance void [a] Ns.Thing::set_Item(int32,class [x]F`2<!0,!1>)",
		 "Ns.Thing.this[].set", "a", ""},
		/* Properties that are called Item. */
		{"instance uint64 [a] Ns.Thing::get_Item()", "Ns.Thing.Item.get", "a", ""},
		{"instance void [a] Ns.Thing::set_Item(class [x]F`2<!0,!1>)", "Ns.Thing.Item.set",
		 "a", ""},
		{"instance char [c] System.String::get_Chars(int32)", "System.String.Chars.get",
		 "c", ""},
		{"instance void [a] Ns.Thing::add_Changed(class X)", "Ns.Thing.Changed.add", "a",
		 ""},
		{"instance void [a] Ns.Thing::remove_Changed(class X)", "Ns.Thing.Changed.remove",
		 "a", ""},
		/* Methods of people who like underscores. */
		{"instance void [a] Ns.Thing::get_ready()", "Ns.Thing.get_ready", "a", ""},
		{"instance int32 [a] Ns.Thing::set_up(int32)", "Ns.Thing.set_up", "a", ""},
		{"instance void [a] Ns.Thing::add_all()", "Ns.Thing.add_all", "a", ""},
		{"instance void [a] Ns.Thing::get_()", "Ns.Thing.get_", "a", ""},
		{"instance uint64 [a] Ns.Thing::My.IStore<System.String>.get_Count()",
		 "Ns.Thing.IStore<string>.Count.get", "a", ""},
		{"instance uint64 [a] Ns.Thing+<>c::<get_Value>b__4_0()",
		 "Ns.Thing.Value.get.<lambda>", "a", ""},
		{"instance bool [a] Ns.Thing+<get_Rows>d__2::MoveNext()",
		 "Ns.Thing.Rows.get (iterator)", "a", ""},
		{"class M [a] M::op_Addition(class M,class M)", "M.operator +", "a", ""},
		{"class M [a] M::op_CheckedMultiply(class M,class M)", "M.operator checked *", "a",
		 ""},
		{"bool [a] M::op_LessThanOrEqual(class M,class M)", "M.operator <=", "a", ""},
		{"class M [a] M::op_UnsignedRightShift(class M,int32)", "M.operator >>>", "a", ""},
		{"class M [a] M::op_Increment(class M)", "M.operator ++", "a", ""},
		{"bool [a] M::op_True(class M)", "M.operator true", "a", ""},
		{"int32 [a] M::op_Explicit(class M)", "M.explicit operator", "a", ""},
		/* C# 14. */
		{"instance void [a] M::op_AdditionAssignment(int32)", "M.operator +=", "a", ""},
		{"instance void [a] M::op_MultiplicationAssignment(int32)", "M.operator *=", "a",
		 ""},
		{"instance void [a] M::op_IncrementAssignment()", "M.operator ++", "a", ""},
		{"void [a] M::op_PipeRight()", "M.op_PipeRight", "a", ""},
		{"instance void [a] Ns.Thing::Finalize()", "Ns.Thing.Finalize", "a", ""},
		{"instance void [a] Ns.P+<Iter>d__4::<>m__Finally1()", "Ns.P.Iter.<finally>", "a",
		 ""},
		{"instance void [a] Ns.P+<Iter>d__4::<>m__Finally2()", "Ns.P.Iter.<finally 2>", "a",
		 ""},
		{"instance void [a] Ns.P::<>n__0()", "Ns.P.<call of base>", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, reads_types_that_compilers_made)
{
	static const struct row rows[] = {
		{"uint64 [a] Shop.Names.<Types>FE60DA2E6AF59236BE5BC695035F7EAA1302B4A67DC009719502"
		 "39111B1B9F6A2__Hidden::Work()",
		 "Shop.Names.Hidden.Work", "a", ""},
		{"uint64 [a] Ns.<My.Types>F0123456789ABCDEF__Hidden`1[System.Int32]::Work()",
		 "Ns.Hidden<int>.Work", "a", ""},
		{"int32 [a] Ns.<File>F01__Hidden::Do()", "Ns.<File>F01__Hidden.Do", "a", ""},
		{"instance class X [a] <>z__ReadOnlyArray`1[System.__Canon]::System.Collections."
		 "Generic.IEnumerable<T>.GetEnumerator()",
		 "<collection expression><T>.IEnumerable<T>.GetEnumerator", "a", ""},
		{"instance int32 [a] VB$AnonymousType_0`1[System.Int32]::get_Id()",
		 "<anonymous type><int>.Id.get", "a", ""},
		{"instance int32 [a] Shop.Box`1+<>c[System.Int32]::<Each>b__3_0(!0)",
		 "Shop.Box<int>.Each.<lambda>", "a", ""},
		{"instance int32 [vb] Cart+_Closure$__R2-0::_Lambda$__R1(int32)",
		 "Cart.<lambda 2-1>", "vb", ""},
		{"instance int32 [vb] Cart+_Closure$__2-0::_Lambda$__0(int32)", "Cart.<lambda 2-0>",
		 "vb", ""},
		{"instance void [vb] Cart+_Closure$__0-0+VB$StateMachine___Lambda$__0::MoveNext()",
		 "Cart.<lambda 0-0> (async)", "vb", ""},
		{"instance bool [vb] Shop.Program+VB$StateMachine_1_Numbers::MoveNext()",
		 "Shop.Program.Numbers (iterator)", "vb", ""},
		{"instance int32 [fs] Shop.Cart+Pipe #2 stage #1 at line 28@28::Invoke(int32)",
		 "Shop.Cart.<pipe>.<lambda@28>", "fs", ""},
		{"int32 [fs] Shop.Cart::<sumBy>__debug@9(class [x]L`1<int32>)", "Shop.Cart.sumBy",
		 "fs", ""},
		{"instance int32 [fs] Shop.Cart+numbers@17::GenerateNext(class [x]I`1<int32>&)",
		 "Shop.Cart.numbers (iterator)", "fs", ""},
		{"class [x]F`2<a,b> [fs] Shop.Cart::|Even|Odd|(int32)", "Shop.Cart.|Even|Odd|",
		 "fs", ""},
		/* The runtime's own async, .NET 10: the thunk, then the body. */
		{"class [System.Runtime]System.Threading.Tasks.Task`1<int32> [cs] P::Work(int32)",
		 "P.Work", "cs", ""},
		{"int32 modreq([System.Runtime]System.Threading.Tasks.Task`1) [cs] P::Work(int32)",
		 "P.Work (async)", "cs", ""},
		{"instance void modreq([System.Runtime]System.Threading.Tasks.ValueTask) [cs] "
		 "P+<>c::<Work>b__0_1(int32)",
		 "P.Work.<lambda 2> (async)", "cs", ""},
		{"instance int32& modreq([x]System.Runtime.InteropServices.InAttribute) [cs] "
		 "P::get_At(int32)",
		 "P.At.get", "cs", ""},
		{"instance void [vb] Cart+_Closure$__+VB$StateMachine___Lambda$__1-0::MoveNext()",
		 "Cart.<lambda 1-0> (async)", "vb", ""},
		{"instance int32 [fs] Shop+total@7-2::Invoke(int32)", "Shop.total.<lambda@7-2>",
		 "fs", ""},
		{"int32 [fs] <StartupCode$Shop>.$Program::main@()",
		 "<StartupCode$Shop>.$Program.main@", "fs", ""},
		{"instance void [c] System.Collections.Generic.Dictionary`2[System.__Canon,System."
		 "ValueTuple`2[System.Int64,System.__Canon]]::set_Item(!0,!1)",
		 "System.Collections.Generic.Dictionary<T1,ValueTuple<long,T2>>.this[].set", "c",
		 ""},
		{"void [a] Wide`12::Go()", "Wide<T1,T2,T3,T4,T5,T6,T7,T8,T9,T10,T11,T12>.Go", "a",
		 ""},
		{"instance void [a] T+<>c__DisplayClass5_0+<<Nested>g__Local|0>d::MoveNext()",
		 "T.Nested.Local (async)", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, falls_back_to_the_raw_name)
{
	static const struct row rows[] = {
		{"LazyCompile:~foo file.js:1", "LazyCompile:~foo file.js:1", "", ""},
		{"", "[no name]", "", ""},
		{"::", "::", "", ""},
		{"void [a] ::x()", "void [a] ::x()", "", ""},
		{"void X::y()", "void X::y()", "", ""},
		{"py::tax.<locals>.<genexpr>:/shop/shop.py",
		 "py::tax.<locals>.<genexpr>:/shop/shop.py", "", ""},
		{"ns::fn<int>(char const*)", "ns::fn<int>(char const*)", "", ""},
		{"[] X::y()", "X.y", "", ""},
		{"void [a] X::(int32)", "void [a] X::(int32)", "", ""},
		{"] ] X::y()", "] ] X::y()", "", ""},
		{"void [a] X`9999::y()", "X`9999.y", "a", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, survives_any_cut_of_a_name_in_any_buffer)
{
	static const char whole[] =
		"instance valuetype X`1<!0> /* MT: 0x7f00 */ [My App] A.B`2+<>c__DisplayClass1_0`1"
		"+<<A.I<System.Int32>.M>g__L|0>d__1`1[System.Int32[],C`1[D+E],F,[G, h]]"
		"::<<Q>$>b__1(int32)[OptimizedTier1OSR]";
	struct perfmap_name n;
	size_t from, len, cap;

	for (from = 0; from < sizeof(whole); from += 3) {
		for (len = 0; from + len < sizeof(whole); len++) {
			char *raw = malloc(len ? len : 1);

			memcpy(raw, whole + from, len);
			for (cap = 64; cap <= 256; cap += 96) {
				char *buf = malloc(cap);

				perfmap_name_parse(raw, len, buf, cap, &n);
				cr_assert(n.display >= buf && *n.display);
				cr_assert(n.display + strlen(n.display) < buf + cap);
				cr_assert(n.raw_len <= len);
				free(buf);
			}
			free(raw);
		}
	}
}

Test(perfmap_name, bounds_hostile_names)
{
	static const char *const repeated[] = {"[",  "<",   "+",   "A+", "B`1[",   "]",
					       ",",  "::",  "(",   "<<", "C<",	   "`1[X,",
					       "\\", ") [", "/* ", "] ", "] [a] ", "\xc3\xb6"};
	size_t len = 65535, i, k, unit;
	char *raw = malloc(len), buf[256];
	struct perfmap_name n;

	for (i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
		unit = strlen(repeated[i]);
		for (k = 0; k < len; k++)
			raw[k] = repeated[i][k % unit];
		perfmap_name_parse(raw, len, buf, sizeof(buf), &n);
		cr_expect(n.is_cut, "%s", repeated[i]);
		/* Once more as the owner of a method. */
		memcpy(raw, "void [a] X", 10);
		memcpy(raw + len - 6, "::y(z)", 6);
		perfmap_name_parse(raw, len, buf, sizeof(buf), &n);
		cr_expect(*n.display && n.display + strlen(n.display) < buf + sizeof(buf), "%s",
			  repeated[i]);
	}
	free(raw);
}

Test(perfmap_name, cuts_between_characters_and_says_so)
{
	char raw[400] = "void [a] ", buf[64];
	struct perfmap_name n;
	size_t i;

	for (i = 0; i < 100; i++)
		strcat(raw, "\xe6\x97\xa5");
	strcat(raw, "::y()");
	perfmap_name_parse(raw, strlen(raw), buf, sizeof(buf), &n);
	cr_expect(n.is_cut);
	cr_expect_str_eq(n.assembly, "a");
	cr_expect_str_eq(n.display + strlen(n.display) - 6, "\xe6\x97\xa5...");
}

Test(perfmap_name, replaces_nul)
{
	char buf[PERFMAP_NAME_BYTES];

	cr_expect_str_eq(parse("void [a\0b] X\0Y::z()", 19, buf).display, "X?Y.z");
	cr_expect_str_eq(parse("void [a\0b] X\0Y::z()", 19, buf).assembly, "a?b");
}

Test(perfmap_name, tells_framework_from_application)
{
	static const struct {
		const char *raw;
		bool framework;
	} rows[] = {
		{"object [Anonymously Hosted DynamicMethods Assembly] "
		 "dynamicClass::lambda_method3(object)"
		 "[Optimized]",
		 true},
		{"int32 [names] dynamicClass::IdGetter(object)[Optimized]", false},
		{"void [System.Private.CoreLib] X::y()", true},
		{"void [System] X::y()", true},
		{"void [Microsoft.AspNetCore.Server.Kestrel.Core] X::y()", true},
		{"void [mscorlib] X::y()", true},
		{"void [netstandard] X::y()", true},
		{"void [WindowsBase] X::y()", true},
		{"stub CreateHelper<DynamicHelper>", true},
		{"void [Shop.Api] System.Sneaky::y()", false},
		{"void [Systematic] X::y()", false},
		{"void [MicrosoftFan.Lib] X::y()", false},
		{"void [Newtonsoft.Json] X::y()", false},
		{"void [NuGet.Build.Tasks] X::y()", true},
		{"void [NuGetter] X::y()", false},
		{"void [MSBuild] X::y()", true},
		{"void [dotnet] X::y()", true},
		{"something else", false},
	};
	char buf[PERFMAP_NAME_BYTES];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_name n = parse(rows[i].raw, strlen(rows[i].raw), buf);

		cr_expect_eq(perfmap_is_framework(&n), rows[i].framework, "%s", rows[i].raw);
	}
}

/* 32 KB that announce 3.6 million type arguments, which nobody gets to see: 120 ms once. */
Test(perfmap_name, work_ends_where_the_output_is_full)
{
	static char raw[65536];
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;
	clock_t start;
	size_t len = (size_t)sprintf(raw, "void [x] B`9[");

	for (int i = 0; i < 60; i++) {
		len += (size_t)sprintf(raw + len, "%sC`9[", i ? "," : "");
		for (int k = 0; k < 60; k++)
			len += (size_t)sprintf(raw + len, "%sD`999[E]", k ? "," : "");
		raw[len++] = ']';
	}
	len += (size_t)sprintf(raw + len, "]::M()");
	start = clock();
	perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
	cr_expect_lt(clock() - start, CLOCKS_PER_SEC / 20);
	cr_expect(name.is_cut);
}
