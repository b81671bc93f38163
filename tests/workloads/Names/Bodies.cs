/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What methods hold: lambdas, local functions, state machines, code made at run time. */
using System;
using System.Collections.Generic;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Load;

namespace Shop.Names;

public static class Bodies
{
    const string Here = "Shop.Names.Bodies.";

    static readonly object[] from = new object[1 << 16], to = new object[1 << 16];

    /* Code of the runtime that has a name: what [DllImport] asks it for ... */
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Waited(long ns)
    {
        long end = Clock.Thread() + ns;
        while (Clock.Thread() < end)
            Thread.SpinWait(100_000);
        return 1;
    }

    /* ... and what is a managed method itself. */
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Copied(long ns)
    {
        long end = Clock.Thread() + ns;
        while (Clock.Thread() < end)
            Array.Copy(from, to, from.Length);
        return 1;
    }

    public static ulong Lambdas(int slots)
    {
        Func<int, ulong> plain = x => Burn.Spin(Here + "Lambdas.<lambda>", x) + 1;
        Func<ulong> closure = () => Burn.Spin(Here + "Lambdas.<lambda 2>", slots) + 1;
        /* Counted as the compiler does: those in lambdas come last. */
        Func<Func<ulong>> nested = () =>
        {
            int inner = slots;
            return () => Burn.Spin(Here + "Lambdas.<lambda 6>", inner) + 1;
        };
        Func<int, ulong> group = Named;
        Action many = () => Burn.Spin(Here + "Lambdas.<lambda 4>");
        many += () => Burn.Spin(Here + "Lambdas.<lambda 5>");
        many();
        return plain(slots) + closure() + nested()() + group(slots);
    }

    static ulong Named(int slots) => Burn.Spin(Here + "Named", slots) + 1;

    public static ulong Locals(int slots)
    {
        ulong Capturing() => Burn.Spin(Here + "Locals.Capturing", slots) + 1;
        static ulong Static(int n) => Burn.Spin(Here + "Locals.Static", n) + 1;
        static ulong Generic<T>(T item) => Burn.Spin(Here + "Locals.Generic") + 1;
        Func<ulong> lambda = () =>
        {
            ulong InLambda() => Burn.Spin(Here + "Locals.InLambda", slots) + 1;
            return InLambda() + 1;
        };
        ulong Outer()
        {
            ulong Inner() => Burn.Spin(Here + "Locals.Inner", slots) + 1;
            return Inner() + 1;
        }
        return Capturing() + Static(slots) + Generic(1) + Generic("") + lambda() + Outer();
    }

    public static IEnumerable<ulong> Iterator(int slots)
    {
        yield return Burn.Spin(Here + "Iterator (iterator)", slots);
        try
        {
            yield return 1;
        }
        finally
        {
            Burn.Spin(Here + "Iterator.<finally>", slots);
        }
    }

    public static ulong Query(int slots)
    {
        return Enumerable.Range(1, 2)
            .Select(x => Burn.Spin(Here + "Query.<lambda>", slots) + (ulong)x)
            .Where(x => Burn.Spin(Here + "Query.<lambda 2>", slots) != 0)
            .OrderBy(static x => x)
            .First();
    }

    static readonly Func<int, ulong> made = Make(), compiled = Compile();

    public static ulong Emitted(int slots) => made(slots) + compiled(slots);

    static Func<int, ulong> Make()
    {
        var spin = typeof(Burn).GetMethod(nameof(Burn.Spin))!;
        var dynamic = new DynamicMethod("Adder", typeof(ulong), [typeof(int)], typeof(Bodies).Module);
        var il = dynamic.GetILGenerator();
        il.Emit(OpCodes.Ldstr, "<dynamic>.Adder");
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, spin);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Conv_I8);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return dynamic.CreateDelegate<Func<int, ulong>>();
    }

    static Func<int, ulong> Compile()
    {
        var spin = typeof(Burn).GetMethod(nameof(Burn.Spin))!;
        var n = Expression.Parameter(typeof(int));
        var call = Expression.Call(spin, Expression.Constant("<expression>.lambda_method1"), n);
        return Expression.Lambda<Func<int, ulong>>(
            Expression.Add(call, Expression.Constant(1UL)), n).Compile();
    }

    /* Its body is replaced while it runs, and stays one frame. */
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static ulong Replaced(int rounds)
    {
        ulong sum = 0;
        for (int i = 0; i < 100_000; i++)
            sum += (ulong)i * 3;
        for (int i = 0; i < rounds; i++)
            sum += Burn.Spin(Here + "Replaced");
        return sum;
    }

    /* Calls of a method by itself stay as many frames as they are. */
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static ulong Recurse(int depth) =>
        depth > 0 ? Recurse(depth - 1) + 1 : Burn.Spin(Here + "Recurse") + 1;
}

public class Tasks
{
    const string Here = "Shop.Names.Tasks.";

    public static async Task<ulong> Work(int slots)
    {
        ulong sum = Burn.Spin(Here + "Work (async)", slots);
        await Task.Yield();
        return sum + Burn.Spin(Here + "Work (async)", slots);
    }

    public async ValueTask<ulong> Value(int slots)
    {
        await Task.Yield();
        return Burn.Spin(Here + "Value (async)", slots);
    }

    public static async Task<T> Generic<T>(T item)
    {
        await Task.Yield();
        Burn.Spin(Here + (typeof(T) == typeof(int) ? "Generic<int> (async)" : "Generic<T> (async)"));
        return item;
    }

    public static async IAsyncEnumerable<ulong> Stream(int slots)
    {
        await Task.Yield();
        yield return Burn.Spin(Here + "Stream (async)", slots);
        await Task.Yield();
        yield return 1;
    }

    public static async Task<ulong> Nested(int slots)
    {
        async Task<ulong> Local()
        {
            await Task.Yield();
            return Burn.Spin(Here + "Nested.Local (async)", slots);
        }
        ulong Sync() => Burn.Spin(Here + "Nested.Sync", slots) + 1;
        Func<Task<ulong>> lambda = async () =>
        {
            await Task.Yield();
            return Burn.Spin(Here + "Nested.<lambda 3> (async)", slots);
        };
        Func<int, Task<ulong>> still = static async n =>
        {
            await Task.Yield();
            return Burn.Spin(Here + "Nested.<lambda 4> (async)", n);
        };
        return await Local() + Sync() + await lambda() + await still(slots);
    }

    public static async Task<ulong> Run(int slots)
    {
        ulong sum = await Work(slots) + await new Tasks().Value(slots) + (ulong)await Generic(1);
        await Generic("");
        await foreach (ulong x in Stream(slots))
            sum += x;
        return sum + await Nested(slots);
    }
}
