/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread that spends 60 % of its CPU time in one method and 40 % in another.
 *
 *   dotnet Split.dll SECONDS TRUTH_FILE [PER_CENT]
 *
 * Slots of 1-5 ms; whoever is behind its share gets the next one. The first way goes through a
 * lambda, the second through a generic method and an async one, as service code does. PER_CENT: of a CPU that it
 * uses (100), at the most, where it is to be there and little more.
 */
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shop.Pricing
{
    public static class Engine
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Reprice(ulong seed, long ns)
        {
            long end = Load.Clock.Thread() + ns;
            do
                for (int i = 0; i < 25_000; i++)
                {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                }
            while (Load.Clock.Thread() < end);
            return seed;
        }
    }
}

namespace Shop.Search
{
    public sealed class Index<T>
    {
        readonly ulong seed;

        public Index(ulong seed)
        {
            this.seed = seed;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public ulong Rank(long ns)
        {
            ulong x = seed;
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

    public static class Service
    {
        public static async Task<ulong> SearchAsync(Index<string> index, long ns)
        {
            ulong result = index.Rank(ns);
            await Task.CompletedTask;
            return result + 1;
        }
    }
}

namespace Shop.Währung
{
    /* The runtime damages the perf map's lines of names that are not ASCII, and glues the next line
     * to them: the names after this one must survive. */
    public static class Umrechner
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Überschlagen(ulong x) => x + 1;
    }
}

namespace Shop
{
    public static class Program
    {
        static readonly Load.Truth truth = new();
        static volatile bool stop;
        static int perCent = 100;
        static ulong sink = 88172645463325252;

        static long Measure(Func<long, ulong> way, long ns)
        {
            long start = Load.Clock.Thread();
            sink ^= way(ns) | 1;
            return Load.Clock.Thread() - start;
        }

        static void Loop()
        {
            var index = new Search.Index<string>(362436069);
            Func<long, ulong> reprice = ns => Pricing.Engine.Reprice(88172645463325252, ns) + 1;
            Func<long, ulong> search = ns => Search.Service.SearchAsync(index, ns).Result + 1;
            var random = new Random(1);

            while (!stop)
            {
                long slot = random.Next(1_000_000, 5_000_000);
                if (truth.First * 4 <= truth.Second * 6)
                    truth.AddFirst(Measure(reprice, slot));
                else
                    truth.AddSecond(Measure(search, slot));
                sink = Währung.Umrechner.Überschlagen(sink);
                if (perCent < 100)
                    Thread.Sleep((int)(slot * (100 - perCent) / perCent / 1_000_000));
            }
        }

        public static int Main(string[] args)
        {
            if (args.Length != 2 && args.Length != 3)
            {
                Console.Error.WriteLine("usage: Split SECONDS TRUTH_FILE [PER_CENT]");
                return 2;
            }
            if (args.Length == 3)
                perCent = int.Parse(args[2], CultureInfo.InvariantCulture);
            var thread = new Thread(Loop) { Name = "pricing" };
            thread.Start();
            truth.Write(args[1], double.Parse(args[0], CultureInfo.InvariantCulture));
            stop = true;
            thread.Join();
            return 0;
        }
    }
}
