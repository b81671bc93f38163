/* SPDX-License-Identifier: GPL-2.0-or-later */
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Load;

/* The kernel's clocks, ns. CPU time, not wall time, makes the truth of a load exact on a busy host. */
public static unsafe class Clock
{
    struct Timespec
    {
        public long Seconds, Nanoseconds;
    }

    [DllImport("libc")]
    static extern int clock_gettime(int id, Timespec* time);

    static long Read(int id)
    {
        Timespec time;
        clock_gettime(id, &time);
        return time.Seconds * 1_000_000_000 + time.Nanoseconds;
    }

    public static long Monotonic() => Read(1);
    public static long Process() => Read(2);

    /* Of the calling thread. */
    public static long Thread() => Read(3);
}

public static class Work
{
    /* About 50 us of arithmetic between two looks at the clock keep the caller the leaf of nearly all
     * samples. Inlined, so that the CPU time is the caller's own. */
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong Spin(ulong x)
    {
        for (int i = 0; i < 25_000; i++)
        {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        return x;
    }
}
