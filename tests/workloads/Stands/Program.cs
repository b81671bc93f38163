/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hangs of which each thread's place is known:
 *
 *   dotnet Shop.Stands.dll WORKERS WAITERS SECONDS [FILE]
 *
 * so many workers of the pool, all that it may have, wait for an answer that never comes (sync over async), and more
 * is queued behind them; two threads hold a lock each and want the other's, two more a Lock each; so many wait for a semaphore that nobody
 * releases, three for another service that is slow, and two read FILE. Prints "ready" when all stand there.
 */
using System;
using System.Globalization;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shop.Pay
{
    public static class Client
    {
        static readonly TaskCompletionSource<int> answer = new();
        public static int Waiting;

        static async Task<int> AskAsync() => await answer.Task.ConfigureAwait(false);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Get()
        {
            Task<int> asked = AskAsync();
            Interlocked.Increment(ref Waiting);
            // Once it is optimized, a call at its end would take the place of its frame.
            return asked.Result + 1;
        }
    }

    public static class Ledger
    {
        static readonly object debit = new(), credit = new();
        public static readonly Barrier Both = new(2);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Move(object first, object second)
        {
            lock (first)
            {
                Both.SignalAndWait();
                lock (second)
                    return 1;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Debit() => Move(debit, credit) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Credit() => Move(credit, debit) + 1;
    }

    public static class Vault
    {
        static readonly Lock gold = new(), silver = new();
        static readonly Barrier both = new(2);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Move(Lock first, Lock second)
        {
            lock (first)
            {
                both.SignalAndWait();
                lock (second)
                    return 1;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Gold() => Move(gold, silver) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Silver() => Move(silver, gold) + 1;
    }

    public static class Gate
    {
        static readonly SemaphoreSlim tokens = new(0);
        public static int Waiting;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Enter()
        {
            Interlocked.Increment(ref Waiting);
            tokens.Wait();
            Waiting--;
        }
    }

    public static class Bank
    {
        static readonly TcpListener listener = new(IPAddress.Loopback, 0);

        public static void Open() => listener.Start();

        // Nobody answers: connections are made all the same.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Ask()
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(listener.LocalEndpoint);
            socket.Send(new byte[16]);
            return socket.Receive(new byte[16]);
        }
    }

    public static class Archive
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Load(string path)
        {
            using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
            return RandomAccess.Read(file, new byte[4096], 0);
        }
    }

    public static class Program
    {
        const int Queued = 500, Askers = 3, Readers = 2;

        static void Start(Action what, string name) =>
            new Thread(() => what()) { Name = name, IsBackground = true }.Start();

        public static int Main(string[] args)
        {
            int workers = int.Parse(args[0], CultureInfo.InvariantCulture);
            int waiters = int.Parse(args[1], CultureInfo.InvariantCulture);
            ThreadPool.SetMinThreads(workers, 2);
            ThreadPool.SetMaxThreads(workers, 2);
            for (int i = 0; i < workers + Queued; i++)
                ThreadPool.UnsafeQueueUserWorkItem(_ => Client.Get(), null);
            for (int i = 0; i < waiters; i++)
                Start(Gate.Enter, "gate " + i);
            Bank.Open();
            for (int i = 0; i < Askers; i++)
                Start(() => Bank.Ask(), "bank " + i);
            for (int i = 0; args.Length > 3 && i < Readers; i++)
                Start(() => Archive.Load(args[3]), "archive " + i);
            Start(() => Ledger.Debit(), "ledger debit");
            Start(() => Ledger.Credit(), "ledger credit");
            Start(() => Vault.Gold(), "vault gold");
            Start(() => Vault.Silver(), "vault silver");
            while (Volatile.Read(ref Client.Waiting) < workers || Volatile.Read(ref Gate.Waiting) < waiters)
                Thread.Sleep(20);
            Thread.Sleep(500);
            Console.WriteLine("ready");
            Thread.Sleep(TimeSpan.FromSeconds(double.Parse(args[2], CultureInfo.InvariantCulture)));
            return 0;
        }
    }
}
