// SPDX-License-Identifier: GPL-2.0-or-later
// Text of perf script as PerfView reads it: samples, threads, frames of the deepest stack.
// usage: PerfScriptReader.dll NAME.data.txt
using System;
using System.Collections.Generic;
using Microsoft.Diagnostics.Tracing.StackSources;
using Microsoft.Diagnostics.Tracing.Stacks;

var source = new LinuxPerfScriptStackSource(args[0], false);
var threads = new HashSet<string>();
int samples = 0, deepest = 0;

source.ForEach(sample =>
{
    int depth = 0;

    samples++;
    for (var at = sample.StackIndex; at != StackSourceCallStackIndex.Invalid; at = source.GetCallerIndex(at))
    {
        var name = source.GetFrameName(source.GetFrameIndex(at), false);

        depth++;
        if (name.StartsWith("Thread (", StringComparison.Ordinal))
            threads.Add(name);
    }
    deepest = Math.Max(deepest, depth);
});
Console.WriteLine($"{samples} {threads.Count} {deepest}");
