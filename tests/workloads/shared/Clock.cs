/* SPDX-License-Identifier: GPL-2.0-or-later */
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Load;

/*
 * The kernel's clocks, ns. CPU time, not wall time, makes the truth of a load exact on a busy host.
 *
 * The loads spin some 50 us between two looks at the clock, in loops of their own and not in a method
 * that they share: optimized, that would have no frame, and a walk by frame pointers skips the caller
 * of such a method until it is inlined.
 */
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
