/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU at the end of a recursion, deeper than the kernel walks by default.
 *
 *   dotnet Deep.dll SECONDS DEPTH
 *
 * Walk is not optimized: an optimized method may have no frame of its own, and then none of its
 * calls were on the stack to be counted.
 */
using System;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace Shop.Catalogue
{
    public static class Tree
    {
        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        public static ulong Walk(int depth, long ns)
        {
            return depth > 0 ? Walk(depth - 1, ns) + 1 : Visit(ns);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static ulong Visit(long ns)
        {
            ulong x = 88172645463325252;
            long end = Load.Clock.Thread() + ns;
            do
                for (int i = 0; i < 25_000; i++)
                {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                }
            while (Load.Clock.Thread() < end);
            return x;
        }
    }

    public static class Program
    {
        public static int Main(string[] args)
        {
            if (args.Length != 2)
            {
                Console.Error.WriteLine("usage: Deep SECONDS DEPTH");
                return 2;
            }
            long end = Load.Clock.Monotonic() +
                (long)(double.Parse(args[0], CultureInfo.InvariantCulture) * 1e9);
            ulong sum = 0;
            // Once at least: a busy host may take all of a short time.
            do
                sum += Tree.Walk(int.Parse(args[1], CultureInfo.InvariantCulture), 5_000_000);
            while (Load.Clock.Monotonic() < end);
            return sum == 0 ? 1 : 0;
        }
    }
}
