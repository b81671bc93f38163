/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A web service that can be in each kind of trouble, on demand.
 *
 *   dotnet Shop.Hang.dll PORT[,PORT]... PORT_OF_HTTP2 SECONDS
 *
 *   /fast                     answers at once
 *   /busy?us=N                after N us of CPU time
 *   /many?threads=N&ms=N      after so many threads of its own took so much CPU time each
 *   /slow?ms=N                after so long asleep, without a thread
 *   /block                    sync over async: one thread of the pool waits for another. Some of these at a
 *                             time, and nothing is served any more, on an idle host
 *   /wait?ms=N                sync over async, too: a thread of the pool waits so long for what another thread ends
 *   /lock?ms=N                asleep for so long with the lock that /stock needs
 *   /stock?us=N               after N us of CPU time, under that lock
 *   /big?mb=N                 a long answer
 *   /ws?push_ms=N&mute=1      WebSocket: sends back what comes, unless mute, and unasked every N ms
 *
 * The pool has at most POOL threads: with the default it would grow out of the hang in minutes. Listens on
 * 127.0.0.1 alone, on the last port HTTP/2 without TLS; prints "ready" when it does.
 */
using System;
using System.Globalization;
using System.Net;
using System.Net.WebSockets;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Shop.Desk
{
    public static class Burn
    {
        public static ulong Cpu(long ns)
        {
            ulong x = 88172645463325252;
            long end = Load.Clock.Thread() + ns;
            do
                for (int i = 0; i < 5_000; i++)
                {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                }
            while (Load.Clock.Thread() < end);
            return x;
        }
    }

    public static class Stock
    {
        static async Task<int> CountAsync()
        {
            await Task.Delay(20);
            return 42;
        }

        public static int Count() => CountAsync().Result;

        static async Task<int> AskAsync(int ms)
        {
            var done = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            new Thread(() =>
            {
                Thread.Sleep(ms);
                done.SetResult(ms);
            }).Start();
            return await done.Task.ConfigureAwait(false);
        }

        static readonly object shelf = new();

        // The answer comes through a thread of the pool, all of which may be waiting for it.
        public static int Wait(int ms)
        {
            Task<int> asked = AskAsync(ms);
            return asked.Wait(ms + 50) ? asked.Result : 0;
        }

        public static int Lock(int ms)
        {
            lock (shelf)
                Thread.Sleep(ms);
            return ms;
        }

        public static ulong Take(long ns)
        {
            lock (shelf)
                return Burn.Cpu(ns);
        }
    }

    public static class Program
    {
        const int Pool = 32;

        static readonly byte[] piece = new byte[1 << 16];

        static int Number(HttpRequest request, string name, int otherwise)
        {
            string? text = request.Query[name];
            return text == null ? otherwise : int.Parse(text, CultureInfo.InvariantCulture);
        }

        static async Task<string> Many(HttpRequest request)
        {
            int ms = Number(request, "ms", 50), left = Number(request, "threads", 2);
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            for (int i = left; i > 0; i--)
                new Thread(() =>
                {
                    Burn.Cpu(ms * 1_000_000L);
                    if (Interlocked.Decrement(ref left) == 0)
                        done.SetResult();
                })
                { Name = "desk worker" }.Start();
            await done.Task;
            return "done";
        }

        static async Task Big(HttpContext context)
        {
            int left = Number(context.Request, "mb", 1) * 16;
            context.Response.ContentLength = left * (long)piece.Length;
            for (; left > 0; left--)
                await context.Response.Body.WriteAsync(piece);
        }

        static async Task Push(WebSocket socket, int ms, SemaphoreSlim turn)
        {
            while (socket.State == WebSocketState.Open)
            {
                await Task.Delay(ms);
                await turn.WaitAsync();
                await socket.SendAsync(new byte[32], WebSocketMessageType.Binary, true, default);
                turn.Release();
            }
        }

        static async Task Talk(HttpContext context)
        {
            bool mute = Number(context.Request, "mute", 0) != 0;
            int push_ms = Number(context.Request, "push_ms", 0);
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            using var turn = new SemaphoreSlim(1);
            var message = new byte[4096];
            if (push_ms > 0)
                _ = Push(socket, push_ms, turn).ContinueWith(t => _ = t.Exception);
            for (;;)
            {
                WebSocketReceiveResult got = await socket.ReceiveAsync(message, default);
                if (got.MessageType == WebSocketMessageType.Close)
                    return;
                if (mute)
                    continue;
                await turn.WaitAsync();
                await socket.SendAsync(message.AsMemory(0, got.Count), got.MessageType, true, default);
                turn.Release();
            }
        }

        public static int Main(string[] args)
        {
            if (args.Length != 3)
            {
                Console.Error.WriteLine("usage: Shop.Hang PORT[,PORT]... PORT_OF_HTTP2 SECONDS");
                return 2;
            }
            ThreadPool.SetMaxThreads(Pool, Pool);
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.ConfigureKestrel(options =>
            {
                foreach (string port in args[0].Split(','))
                    options.Listen(IPAddress.Loopback, int.Parse(port, CultureInfo.InvariantCulture));
                options.Listen(IPAddress.Loopback, int.Parse(args[1], CultureInfo.InvariantCulture),
                    listen => listen.Protocols = HttpProtocols.Http2);
            });
            WebApplication app = builder.Build();
            app.UseWebSockets();
            app.MapGet("/fast", () => "fast");
            app.MapGet("/busy", (HttpRequest request) =>
                Burn.Cpu(Number(request, "us", 1000) * 1000L).ToString(CultureInfo.InvariantCulture));
            app.MapGet("/many", Many);
            app.MapGet("/slow", async (HttpRequest request) =>
            {
                await Task.Delay(Number(request, "ms", 1000));
                return "slow";
            });
            app.MapGet("/block", () => Stock.Count());
            app.MapGet("/wait", (HttpRequest request) =>
                Stock.Wait(Number(request, "ms", 1000)).ToString(CultureInfo.InvariantCulture));
            app.MapGet("/lock", (HttpRequest request) =>
                Stock.Lock(Number(request, "ms", 1000)).ToString(CultureInfo.InvariantCulture));
            app.MapGet("/stock", (HttpRequest request) =>
                Stock.Take(Number(request, "us", 1000) * 1000L).ToString(CultureInfo.InvariantCulture));
            app.MapGet("/big", Big);
            app.Map("/ws", Talk);
            app.Start();
            Console.WriteLine("ready");
            Thread.Sleep(TimeSpan.FromSeconds(double.Parse(args[2], CultureInfo.InvariantCulture)));
            return 0;
        }
    }
}
