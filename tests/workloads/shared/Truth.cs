/* SPDX-License-Identifier: GPL-2.0-or-later */
using System;
using System.Globalization;
using System.IO;
using System.Threading;

namespace Load;

/*
 * What the load really did, for the tests to compare with: a line every 50 ms,
 *
 *   CLOCK_MONOTONIC  CPU of the process  CPU in the first way  CPU in the second     (all ns)
 */
public sealed class Truth
{
    long first, second;

    public long First => Volatile.Read(ref first);
    public long Second => Volatile.Read(ref second);

    public void AddFirst(long ns) => Interlocked.Add(ref first, ns);
    public void AddSecond(long ns) => Interlocked.Add(ref second, ns);

    string Line()
    {
        return string.Create(CultureInfo.InvariantCulture,
            $"{Clock.Monotonic()} {Clock.Process()} {First} {Second}");
    }

    /* Returns after that many seconds. */
    public void Write(string path, double seconds)
    {
        long end = Clock.Monotonic() + (long)(seconds * 1e9);
        using var file = new StreamWriter(path) { AutoFlush = true };
        while (Clock.Monotonic() < end)
        {
            file.Write(Line() + "\n");
            Thread.Sleep(50);
        }
        Console.WriteLine($"truth: {First} {Second}");
    }
}
