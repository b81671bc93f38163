/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic methods whose memory is used again: in each phase others run, at the addresses of those
 * before, which were collected.
 *
 *   dotnet Reuse.dll SECONDS_OF_A_PHASE TRUTH_FILE
 *   dotnet Reuse.dll SECONDS TRUTH_FILE each
 *
 * The file gets a line when a phase begins: CLOCK_MONOTONIC in ns, and the word with which the names
 * of its methods begin ("Second" of Second_7); "end" at the end.
 *
 * each: one method after the other, some 1,000 a second, is compiled, runs once, and is dropped. The
 * file gets a line for each when all is done: when it began, when it ended, and its whole name.
 */
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Shop
{
    public static class Program
    {
        const int Methods = 20;
        static readonly string[] phases = { "First", "Second", "Third", "Fourth" };
        static ulong sink;
        /* Memory in which nothing lives any more is given back, not used again. */
        static readonly Func<ulong, ulong> keeper = Make("Keeper");

        /* Burns some 0.5 ms of CPU in that many turns. */
        static Func<ulong, ulong> Make(string name, int turns = 500_000)
        {
            var method = new DynamicMethod(name, typeof(ulong), new[] { typeof(ulong) });
            ILGenerator il = method.GetILGenerator();
            LocalBuilder left = il.DeclareLocal(typeof(int));
            Label again = il.DefineLabel();

            il.Emit(OpCodes.Ldc_I4, turns);
            il.Emit(OpCodes.Stloc, left);
            il.MarkLabel(again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I8, 6364136223846793005L);
            il.Emit(OpCodes.Mul);
            il.Emit(OpCodes.Starg_S, (byte)0);
            il.Emit(OpCodes.Ldloc, left);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Sub);
            il.Emit(OpCodes.Dup);
            il.Emit(OpCodes.Stloc, left);
            il.Emit(OpCodes.Brtrue, again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ret);
            return method.CreateDelegate<Func<ulong, ulong>>();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Run(string phase, long ns)
        {
            var ways = new List<Func<ulong, ulong>>();
            long end = Load.Clock.Monotonic() + ns;

            for (int i = 0; i < Methods; i++)
                ways.Add(Make($"{phase}_{i}"));
            while (Load.Clock.Monotonic() < end)
                foreach (Func<ulong, ulong> way in ways)
                    sink += way(sink | 1);
        }

        static void Forget()
        {
            for (int i = 0; i < 10; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                System.Threading.Thread.Sleep(20);
            }
        }

        static void RunEach(long ns, TextWriter truth)
        {
            var times = new List<(long, long)>(1 << 16);
            long end = Load.Clock.Monotonic() + ns, from;

            do
            {
                Func<ulong, ulong> way = Make($"Each_{times.Count}", 1_000_000);
                from = Load.Clock.Monotonic();
                sink += way(sink | 1);
                times.Add((from, Load.Clock.Monotonic()));
            } while (from < end);
            for (int i = 0; i < times.Count; i++)
                truth.WriteLine($"{times[i].Item1} {times[i].Item2} Each_{i}");
        }

        public static int Main(string[] args)
        {
            bool each = args.Length == 3 && args[2] == "each";
            if (args.Length != 2 && !each)
            {
                Console.Error.WriteLine("usage: Reuse SECONDS_OF_A_PHASE TRUTH_FILE [each]");
                return 2;
            }
            long ns = (long)(double.Parse(args[0], CultureInfo.InvariantCulture) * 1e9);
            sink += keeper(1);
            using var truth = new StreamWriter(args[1]) { AutoFlush = true };
            if (each)
            {
                RunEach(ns, truth);
                return sink == 1 ? 1 : 0;
            }
            foreach (string phase in phases)
            {
                truth.WriteLine($"{Load.Clock.Monotonic()} {phase}");
                Run(phase, ns);
                Forget();
            }
            truth.WriteLine($"{Load.Clock.Monotonic()} end");
            return sink == 1 ? 1 : 0;
        }
    }
}
