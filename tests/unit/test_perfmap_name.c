/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/name.h"

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
		{"instance int32[] [app] X::Get(int32[0...,0...],method void *(int32))", "X.Get",
		 "app", ""},
		{"void [My App] My.X::Go()", "My.X.Go", "My App", ""},
		{"T [a] X::op_Implicit(y::z)", "X.op_Implicit", "a", ""},
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
		 "My.Outer<int,__Canon>.Inner<double>.Gen", "names", "QuickJitted"},
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
		 "Ns.P.Work<__Canon> (async)", "a", ""},
		{"instance void [a] Ns.P+<Work>d__3::SetStateMachine(class X)",
		 "Ns.P.Work.SetStateMachine", "a", ""},
		{"instance int32 [a] Ns.P+<I>d__5::System.Collections.Generic.IEnumerator<System."
		 "Int32>.get_Current()",
		 "Ns.P.I.IEnumerator<int>.get_Current", "a", ""},
		{"instance void [app] Program+<<Main>$>d__0::MoveNext()", "Program.Main (async)",
		 "app", ""},
		{"instance void [app] Program+<>c+<<<Main>$>b__0_3>d::MoveNext()",
		 "Program.Main.<lambda> (async)", "app", ""},
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
		 "My.P.Main.<lambda>", "a", ""},
		{"instance int32 [a] My.P+<>c::<Main>b__0_1(int32)", "My.P.Main.<lambda>", "a", ""},
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
		{"instance int32 [a] Program+<>c::<<Main>$>b__0_1(int32)", "Program.Main.<lambda>",
		 "a", ""},
		{"void [a] Program+<>c::.cctor()", "Program.<closure>..cctor", "a", ""},
		{"instance void [a] P+<>c::<.ctor>b__0_0()", "P..ctor.<lambda>", "a", ""},
		{"instance int32 [a] P+<>c::<Ns.IThing.Do>b__0_0()", "P.IThing.Do.<lambda>", "a",
		 ""},
		{"instance int32 [vb] Cart+_Closure$__::_Lambda$__1-0()", "Cart.<lambda>", "vb",
		 ""},
		{"instance int32 [fs] Shop+total@7::Invoke(int32)", "Shop.total.<lambda>", "fs",
		 ""},
		{"instance class Rec [a] Rec::<Clone>$()", "Rec.Clone", "a", ""},
		{"int32 [a] <Program>F0123456789ABCDEF__Hidden::Do()", "Hidden.Do", "a", ""},
		{"instance !1 [a] <>f__AnonymousType1`2[System.Int32,System.Int32]::get_y()",
		 "<>f__AnonymousType1<int,int>.get_y", "a", ""},
		{"uint32 [a] <PrivateImplementationDetails>::ComputeStringHash(string)",
		 "<PrivateImplementationDetails>.ComputeStringHash", "a", ""},
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
		 "System.Int32.IEqualityOperators<int,int,bool>.op_Equality", "c", ""},
	};

	CHECK(rows);
}

Test(perfmap_name, reads_dynamic_methods)
{
	static const struct row rows[] = {
		{"int32 [names] dynamicClass::IdGetter(object)[Optimized]", "dynamicClass.IdGetter",
		 "names", "Optimized"},
		{"System.Threading.Tasks.Task /* MT: 0x7fc455fb6050 */ [Anonymously Hosted "
		 "DynamicMethods Assembly] dynamicClass::lambda_method1(class X)",
		 "dynamicClass.lambda_method1", "Anonymously Hosted DynamicMethods Assembly", ""},
		{"int32 [a] dynamicClass::with\nnewline(object)[Optimized]",
		 "dynamicClass.with\nnewline", "a", "Optimized"},
		{"int32 [a] dynamicClass::any.text <at> all(object)",
		 "dynamicClass.any.text <at> all", "a", ""},
		{"int32 [a] dynamicClass::half a na", "dynamicClass.half a na", "a", ""},
	};
	char buf[PERFMAP_NAME_BYTES];

	CHECK(rows);
	cr_expect(parse(rows[0].raw, strlen(rows[0].raw), buf).is_dynamic);
}

Test(perfmap_name, reads_stubs)
{
	static const struct row rows[] = {
		{"stub CreateHelper<DynamicHelper>", "stub CreateHelper<DynamicHelper>", "", ""},
		{"stub<17> GenerateLookupStub<GenerateLookupStub>", "stub GenerateLookupStub", "",
		 ""},
		{"stub<3> Allocate<VSD_ResolveStub>", "stub Allocate<VSD_ResolveStub>", "", ""},
		{"stub InitThreadManagerPerfMapData<JIT_CopiedWriteBarriers>",
		 "stub InitThreadManagerPerfMapData<JIT_CopiedWriteBarriers>", "", ""},
		{"stub<", "stub<", "", ""},
		{"stub ", "stub ", "", ""},
	};
	char buf[PERFMAP_NAME_BYTES];

	CHECK(rows);
	cr_expect(parse(rows[0].raw, strlen(rows[0].raw), buf).is_stub);
}

Test(perfmap_name, falls_back_to_the_raw_name)
{
	static const struct row rows[] = {
		{"LazyCompile:~foo file.js:1", "LazyCompile:~foo file.js:1", "", ""},
		{"", "[no name]", "", ""},
		{"::", "::", "", ""},
		{"void [a] ::x()", "void [a] ::x()", "", ""},
		{"void X::y()", "X.y", "", ""},
		{"void [a] X::(int32)", "void [a] X::(int32)", "", ""},
		{"] ] X::y()", "X.y", "", ""},
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
