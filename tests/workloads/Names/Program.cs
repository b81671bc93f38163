/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU in every construct of C# that compilers or the runtime give a name of their own.
 *
 *   dotnet Names.dll SECONDS TRUTH_FILE
 *
 * The truth file says what each one took and how it should read, see Burn.Write.
 */
using System;
using System.Globalization;
using System.Linq;
using Load;
using Shop.Names;

if (args.Length != 2)
{
    Console.Error.WriteLine("usage: Names SECONDS TRUTH_FILE");
    return 2;
}
long end = Clock.Monotonic() + (long)(double.Parse(args[0], CultureInfo.InvariantCulture) * 1e9);
ulong sum = 0;
while (Clock.Monotonic() < end)
{
    sum += Burn.Spin("Program.Main") + Members.Run();
    sum += Bodies.Lambdas(1) + Bodies.Locals(1) + Bodies.Query(1) + Bodies.Emitted(1);
    sum += Bodies.Iterator(1).Aggregate((a, b) => a + b + Burn.Spin("Program.Main.<lambda>"));
    sum += (ulong)(Bodies.Waited(20_000_000) + Bodies.Copied(20_000_000));
    sum += Bodies.Replaced(2) + Bodies.Recurse(3) + Local(1) + Tasks.Run(1).Result;
}
Burn.Write(args[1]);
return sum == 1 ? 1 : 0;

static ulong Local(int slots) => Burn.Spin("Program.Main.Local", slots) + 1;
