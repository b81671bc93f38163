/* SPDX-License-Identifier: GPL-2.0-or-later */
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Load;

/*
 * Burns CPU on behalf of its caller and keeps the books: under the name by which the caller should
 * read, how much CPU time it took and what the runtime calls the caller. Not optimized, so that it
 * has a frame and its caller is on every stack. Callers must not end in the call: the JIT would
 * make a jump of it, and they were gone.
 */
public static class Burn
{
    /* Long enough that nothing is called the 30 times after which it is optimized, and inlined into its
     * caller. */
    const long SlotNs = 8_000_000;

    static readonly Dictionary<string, (long Ns, string Method)> book = [];

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static ulong Spin(string name, int slots = 1)
    {
        long start = Clock.Thread(), now;
        ulong x = 88172645463325252;
        do
        {
            for (int i = 0; i < 2_000; i++)
            {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
            }
            now = Clock.Thread();
        }
        while (now < start + slots * SlotNs);
        lock (book)
        {
            string method = book.TryGetValue(name, out var row)
                ? row.Method : new StackFrame(1, false).GetMethod()?.Name ?? "";
            book[name] = (row.Ns + now - start, method);
        }
        return x;
    }

    /* A line a caller: CPU time in ns, what the runtime calls it, how it should read. */
    public static void Write(string path)
    {
        using var file = new StreamWriter(path);
        lock (book)
            foreach (var (name, (ns, method)) in book)
                file.Write($"{ns}\t{method}\t{name}\n");
    }
}
