/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that never sleep: so many in one method, so many in another.
 *
 *   dotnet Crowd.dll QUOTING RANKING SECONDS
 */
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Shop.Pricing
{
    public static class Quote
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Compute(ref bool stop)
        {
            ulong x = 88172645463325252;
            while (!Volatile.Read(ref stop))
            {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
            }
            return x;
        }
    }
}

namespace Shop.Search
{
    public static class Ranker
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Score(ref bool stop)
        {
            ulong x = 362436069;
            while (!Volatile.Read(ref stop))
                x = x * 6364136223846793005 + 1442695040888963407;
            return x;
        }
    }
}

namespace Shop
{
    public static class Program
    {
        static bool stop;
        static ulong sink;

        static void Quotes() => sink ^= Pricing.Quote.Compute(ref stop);

        static void Ranks() => sink ^= Search.Ranker.Score(ref stop);

        public static int Main(string[] args)
        {
            if (args.Length != 3)
            {
                Console.Error.WriteLine("usage: Crowd QUOTING RANKING SECONDS");
                return 2;
            }
            int quoting = int.Parse(args[0], CultureInfo.InvariantCulture);
            int ranking = int.Parse(args[1], CultureInfo.InvariantCulture);
            var threads = new Thread[quoting + ranking];
            for (int i = 0; i < threads.Length; i++)
            {
                threads[i] = new Thread(i < quoting ? Quotes : Ranks, 256 * 1024) { Name = "crowd" };
                threads[i].Start();
            }
            Console.WriteLine("ready");
            Thread.Sleep(TimeSpan.FromSeconds(double.Parse(args[2], CultureInfo.InvariantCulture)));
            Volatile.Write(ref stop, true);
            foreach (var thread in threads)
                thread.Join();
            return sink == 0 ? 1 : 0;
        }
    }
}
