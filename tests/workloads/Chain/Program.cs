/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU at the end of call chains of .NET that are known, in turns of 10 ms. What stacks of it must look
 * like stands in tests/support/stacks.py; the method that burns tells which chain it is.
 *
 *   dotnet Chain.dll SECONDS LIBRARY     LIBRARY: chain-first.so of tests/workloads/chain
 */
using System;
using System.Globalization;
using System.Linq.Expressions;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks;
using Load;

namespace Chains;

/* One a chain. Optimized from the first call: they burn in loops. */
public static class Leaves
{
    const MethodImplOptions Leaf = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;
    const long SlotNs = 10_000_000;

    /* The chain of 40 is called without burning as well, so that samples hit all of its instructions. */
    public static bool IsBrief;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static ulong Spin(ulong x)
    {
        for (int i = 0; i < 25_000; i++)
        {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        return x;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static ulong Burn(ulong x)
    {
        long end = Clock.Monotonic() + SlotNs;
        do
            x = Spin(x | 1);
        while (Clock.Monotonic() < end);
        return x;
    }

    [MethodImpl(Leaf)] public static ulong Chain(ulong x) => IsBrief ? x + 1 : Burn(x);
    [MethodImpl(Leaf)] public static ulong Back(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Dynamic(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Replaced(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Awaited(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Finally(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Caught(ulong x) => Burn(x);
    [MethodImpl(Leaf)] public static ulong Virtual(ulong x) => Burn(x);
}

/* Through native code and back. */
public static unsafe class Native
{
    const MethodImplOptions No = MethodImplOptions.NoInlining;

    static delegate* unmanaged<delegate* unmanaged<ulong, ulong>, ulong, ulong> through;
    static delegate* unmanaged<ulong, ulong> burn;

    public static void Load(string path)
    {
        nint library = NativeLibrary.Load(path);
        through = (delegate* unmanaged<delegate* unmanaged<ulong, ulong>, ulong, ulong>)
            NativeLibrary.GetExport(library, "through");
        burn = (delegate* unmanaged<ulong, ulong>)NativeLibrary.GetExport(library, "burn");
    }

    [MethodImpl(No)] public static ulong Down0(ulong x) => Down1(x + 1) + 1;
    [MethodImpl(No)] static ulong Down1(ulong x) => burn(x) + 1;

    [MethodImpl(No)] public static ulong There0(ulong x) => There1(x + 1) + 1;
    [MethodImpl(No)] static ulong There1(ulong x) => through(&Back0, x) + 1;
    [UnmanagedCallersOnly] static ulong Back0(ulong x) => Back1(x + 1) + 1;
    [MethodImpl(No)] static ulong Back1(ulong x) => Leaves.Back(x) + 1;
}

/* Code that is made at run time, from what this program says. */
public static class Made
{
    static readonly Func<ulong, ulong> compiled = Compile(), emitted = Emit();

    [MethodImpl(MethodImplOptions.NoInlining)] public static ulong Call(ulong x) => emitted(x + 1) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static ulong Between(ulong x) => compiled(x) + 1;

    static Func<ulong, ulong> Emit()
    {
        var method = new DynamicMethod("Emitted", typeof(ulong), [typeof(ulong)], typeof(Made).Module, true);
        var il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, ((Func<ulong, ulong>)Between).Method);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Conv_I8);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<ulong, ulong>>();
    }

    static Func<ulong, ulong> Compile()
    {
        var x = Expression.Parameter(typeof(ulong));
        var call = Expression.Call(((Func<ulong, ulong>)Leaves.Dynamic).Method, x);
        return Expression.Lambda<Func<ulong, ulong>>(Expression.Add(call, Expression.Constant(1UL)), "compiled", [x])
            .Compile();
    }
}

public interface ICalled
{
    ulong Call(ulong x);
}

public class Base : ICalled
{
    [MethodImpl(MethodImplOptions.NoInlining)] public virtual ulong Call(ulong x) => Leaves.Virtual(x) + 1;
}

public class Derived : Base
{
    readonly Base next = new();

    [MethodImpl(MethodImplOptions.NoInlining)] public override ulong Call(ulong x) => next.Call(x + 1) + 1;
}

public static class Program
{
    const MethodImplOptions No = MethodImplOptions.NoInlining;

    static readonly ICalled[] called = [new Derived(), new Base()];
    static ulong sum;

    /* Its body is replaced while it runs: each call of it ends in one that came in the middle of its loop. */
    [MethodImpl(No)]
    static ulong Loop(ulong x)
    {
        for (int i = 0; i < 60_000; i++)
            x += (ulong)i * 3;
        return Leaves.Replaced(x) + 1;
    }

    [MethodImpl(No)] static ulong Interface(ulong x) => called[0].Call(x + 1) + 1;

    static async Task<ulong> Async0(ulong x)
    {
        await Task.Yield();
        return await Async1(x + 1) + 1;
    }

    static async Task<ulong> Async1(ulong x)
    {
        ulong first = Leaves.Awaited(x);
        await Task.Yield();
        return first + Leaves.Awaited(x);
    }

    [MethodImpl(No)]
    static ulong Try(ulong x)
    {
        try
        {
            return Through(x + 1) + 1;
        }
        catch (InvalidOperationException e)
        {
            return Leaves.Caught(x) + (ulong)e.Message.Length;
        }
    }

    [MethodImpl(No)]
    static ulong Through(ulong x)
    {
        try
        {
            return Thrower(x + 1) + 1;
        }
        finally
        {
            sum += Leaves.Finally(x);
        }
    }

    [MethodImpl(No)]
    static ulong Thrower(ulong x) => x != 0 ? throw new InvalidOperationException("known") : 1UL;

    static int Main(string[] args)
    {
        if (args.Length != 2)
        {
            Console.Error.WriteLine("usage: Chain SECONDS LIBRARY");
            return 2;
        }
        long end = Clock.Monotonic() + (long)(double.Parse(args[0], CultureInfo.InvariantCulture) * 1e9);
        Native.Load(args[1]);
        while (Clock.Monotonic() < end)
        {
            sum += Links.L00(sum);
            Leaves.IsBrief = true;
            for (int i = 0; i < 50_000; i++)
                sum += Links.L00(sum);
            Leaves.IsBrief = false;
            sum += Native.Down0(sum) + Native.There0(sum) + Made.Call(sum) + Loop(sum) + Interface(sum);
            sum += Try(sum) + Async0(sum).Result;
        }
        return sum == 1 ? 1 : 0;
    }
}
