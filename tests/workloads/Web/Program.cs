/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small web service with known costs.
 *
 *   dotnet Shop.Web.dll PORT SECONDS TRUTH_FILE
 *
 *   /price?ms=N  N ms (1) of CPU time in Shop.Orders.Checkout.Total  (first figure of the truth)
 *   /orders   60 orders as JSON, written by Shop.Orders.Export.Write  (second figure)
 *   /basket/N some 0.5 ms in Shop.Orders.Basket: Stock, Pack and Tax, which takes half of it; N per cent of
 *             what it usually takes
 *
 * Listens on 127.0.0.1 alone; prints "ready" and its address when it does. PORT 0: any that is free.
 */
using System;
using System.Globalization;
using System.Linq;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text.Json;
using System.Threading;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Shop.Orders
{
    public sealed record Line(string Article, int Count, decimal Price);
    public sealed record Order(int Number, string Customer, DateTime Placed, Line[] Lines);

    public static class Checkout
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static ulong Total(ulong seed, long ns)
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

    public static class Export
    {
        static readonly Order[] orders = Enumerable.Range(1, 60).Select(n => new Order(n,
            $"customer {n}", new DateTime(2026, 1, 1).AddHours(n), Enumerable.Range(1, 5)
                .Select(k => new Line($"article {k}", k, 9.99m * k)).ToArray())).ToArray();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static byte[] Write() => JsonSerializer.SerializeToUtf8Bytes(orders);
    }

    public static class Basket
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static ulong Tax(ulong seed, int rounds)
        {
            for (int i = 0; i < rounds; i++)
            {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
            }
            return seed;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static ulong Stock(ulong seed, int rounds)
        {
            for (int i = 0; i < rounds; i++)
                seed = (seed ^ (ulong)i) * 0x9e3779b97f4a7c15;
            return seed;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static ulong Pack(ulong seed, int rounds)
        {
            for (int i = 0; i < rounds; i++)
                seed += BitOperations.RotateLeft(seed, 7) ^ (ulong)i;
            return seed;
        }

        public static ulong Sum(int percent) =>
            Tax(88172645463325252, 1_600 * percent) ^ Stock(1, 100_000) ^ Pack(2, 100_000);
    }

    public static class Program
    {
        static readonly Load.Truth truth = new();

        static string Price(int? ms)
        {
            long start = Load.Clock.Thread();
            ulong sum = Checkout.Total(88172645463325252, (ms ?? 1) * 1_000_000L);
            truth.AddFirst(Load.Clock.Thread() - start);
            return sum.ToString(CultureInfo.InvariantCulture);
        }

        static IResult List()
        {
            long start = Load.Clock.Thread();
            byte[] body = Export.Write();
            truth.AddSecond(Load.Clock.Thread() - start);
            return Results.Bytes(body, "application/json");
        }

        public static int Main(string[] args)
        {
            if (args.Length != 3)
            {
                Console.Error.WriteLine("usage: Shop.Web PORT SECONDS TRUTH_FILE");
                return 2;
            }
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            WebApplication app = builder.Build();
            app.MapGet("/price", Price);
            app.MapGet("/orders", List);
            app.MapGet("/basket/{percent:int:range(0,1000)}", (int percent) => Basket.Sum(percent).ToString());
            app.Urls.Add("http://127.0.0.1:" + args[0]);
            app.Start();
            Console.WriteLine("ready " + app.Urls.First());
            truth.Write(args[2], double.Parse(args[1], CultureInfo.InvariantCulture));
            return 0;
        }
    }
}
