/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU in methods with the worst names that a program can make: escape sequences, line breaks,
 * markup, the separators of folded stacks, lines as a perf map has them.
 *
 *   dotnet Evil.dll SECONDS
 */
using System;
using System.Globalization;
using System.Reflection.Emit;

namespace Shop.Evil
{
    public static class Program
    {
        static readonly string[] names = {
            "esc\u001b[31m\u001b]0;title\u0007end",
            "line\n0x1000 ffffffffffff forged.Name::Everything()[Optimized]\nend",
            "<script>alert(1)</script><img src=x onerror=alert(2)>",
            "semi;colon \\ \" ' 12\r\tend",
            "rtl\u202egnp.exe\u0085end",
            new string('A', 70000),
        };

        /* Counts down; built at run time, since a name in source cannot look like that. */
        static Func<long, long> Build(string name)
        {
            var method = new DynamicMethod(name, typeof(long), new[] { typeof(long) });
            ILGenerator il = method.GetILGenerator();
            Label again = il.DefineLabel();

            il.MarkLabel(again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Conv_I8);
            il.Emit(OpCodes.Sub);
            il.Emit(OpCodes.Starg_S, (byte)0);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Brtrue, again);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ret);
            return method.CreateDelegate<Func<long, long>>();
        }

        public static int Main(string[] args)
        {
            if (args.Length != 1)
            {
                Console.Error.WriteLine("usage: Evil SECONDS");
                return 2;
            }
            Func<long, long>[] methods = Array.ConvertAll(names, Build);
            long end = Load.Clock.Monotonic() +
                (long)(double.Parse(args[0], CultureInfo.InvariantCulture) * 1e9);
            for (int i = 0; Load.Clock.Monotonic() < end; i++)
                methods[i % methods.Length](5_000_000);
            return 0;
        }
    }
}
