/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chain of 40 methods that are never inlined: each does something after its call, so that the call is no
 * jump. Their frames are laid out in the ways that the JIT knows; the plain ones have none, once they are
 * optimized.
 */
using System;
using System.Runtime.CompilerServices;

namespace Chains;

[InlineArray(20)]
public struct Large
{
    ulong first;
}

public static class Links
{
    const MethodImplOptions No = MethodImplOptions.NoInlining;

    public static int Ended;

    [MethodImpl(No)]
    public static ulong L00(ulong x) => L01(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L01(ulong x) => L02(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L02(ulong x)
    {
        ulong a = x * 3, b = x ^ 5, c = x + 7, d = x << 1, e = x - 9, f = x | 1;
        x = L03(a ^ b ^ c ^ d ^ e ^ f);
        return ((x + a) * b ^ c) * d + (e ^ f);
    }

    [MethodImpl(No)]
    static ulong L03(ulong x)
    {
        Large room = default;
        room[(int)(x % 20)] = x;
        x = L04(x);
        return x + room[(int)(x % 20)];
    }

    [MethodImpl(No)]
    static ulong L04(ulong x)
    {
        Span<byte> room = stackalloc byte[16 + (int)(x % 64)];
        room[(int)(x % 16)] = 1;
        x = L05(x);
        return x + room[(int)(x % 16)];
    }

    [MethodImpl(No)]
    static ulong L05(ulong x) => L06<string>(x * 7, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, "") + 1;

    [MethodImpl(No)]
    static ulong L06<T>(ulong x, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, T h) =>
        L07(x + b + c + d + e + f + g) + (ulong)typeof(T).Name.Length;

    [MethodImpl(No)]
    static ulong L07(ulong x)
    {
        try
        {
            return L08(x) + 1;
        }
        finally
        {
            Ended++;
        }
    }

    [MethodImpl(No)]
    static ulong L08(ulong x) => L09(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L09(ulong x)
    {
        ulong kept = x * 3;
        try
        {
            kept += L10(x);
        }
        catch (InvalidOperationException)
        {
            kept++;
        }
        return kept;
    }

    [MethodImpl(No)]
    static ulong L10(ulong x) => L11(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L11(ulong x) => L12(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L12(ulong x)
    {
        ulong a = x * 3, b = x ^ 5, c = x + 7, d = x << 1, e = x - 9, f = x | 1;
        x = L13(a ^ b ^ c ^ d ^ e ^ f);
        return ((x + a) * b ^ c) * d + (e ^ f);
    }

    [MethodImpl(No)]
    static ulong L13(ulong x)
    {
        Large room = default;
        room[(int)(x % 20)] = x;
        x = L14(x);
        return x + room[(int)(x % 20)];
    }

    [MethodImpl(No)]
    static ulong L14(ulong x)
    {
        Span<byte> room = stackalloc byte[16 + (int)(x % 64)];
        room[(int)(x % 16)] = 1;
        x = L15(x);
        return x + room[(int)(x % 16)];
    }

    [MethodImpl(No)]
    static ulong L15(ulong x) => L16<string>(x * 7, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, "") + 1;

    [MethodImpl(No)]
    static ulong L16<T>(ulong x, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, T h) =>
        L17(x + b + c + d + e + f + g) + (ulong)typeof(T).Name.Length;

    [MethodImpl(No)]
    static ulong L17(ulong x)
    {
        try
        {
            return L18(x) + 1;
        }
        finally
        {
            Ended++;
        }
    }

    [MethodImpl(No)]
    static ulong L18(ulong x) => L19(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L19(ulong x)
    {
        ulong kept = x * 3;
        try
        {
            kept += L20(x);
        }
        catch (InvalidOperationException)
        {
            kept++;
        }
        return kept;
    }

    [MethodImpl(No)]
    static ulong L20(ulong x) => L21(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L21(ulong x) => L22(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L22(ulong x)
    {
        ulong a = x * 3, b = x ^ 5, c = x + 7, d = x << 1, e = x - 9, f = x | 1;
        x = L23(a ^ b ^ c ^ d ^ e ^ f);
        return ((x + a) * b ^ c) * d + (e ^ f);
    }

    [MethodImpl(No)]
    static ulong L23(ulong x)
    {
        Large room = default;
        room[(int)(x % 20)] = x;
        x = L24(x);
        return x + room[(int)(x % 20)];
    }

    [MethodImpl(No)]
    static ulong L24(ulong x)
    {
        Span<byte> room = stackalloc byte[16 + (int)(x % 64)];
        room[(int)(x % 16)] = 1;
        x = L25(x);
        return x + room[(int)(x % 16)];
    }

    [MethodImpl(No)]
    static ulong L25(ulong x) => L26<string>(x * 7, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, "") + 1;

    [MethodImpl(No)]
    static ulong L26<T>(ulong x, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, T h) =>
        L27(x + b + c + d + e + f + g) + (ulong)typeof(T).Name.Length;

    [MethodImpl(No)]
    static ulong L27(ulong x)
    {
        try
        {
            return L28(x) + 1;
        }
        finally
        {
            Ended++;
        }
    }

    [MethodImpl(No)]
    static ulong L28(ulong x) => L29(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L29(ulong x)
    {
        ulong kept = x * 3;
        try
        {
            kept += L30(x);
        }
        catch (InvalidOperationException)
        {
            kept++;
        }
        return kept;
    }

    [MethodImpl(No)]
    static ulong L30(ulong x) => L31(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L31(ulong x) => L32(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L32(ulong x)
    {
        ulong a = x * 3, b = x ^ 5, c = x + 7, d = x << 1, e = x - 9, f = x | 1;
        x = L33(a ^ b ^ c ^ d ^ e ^ f);
        return ((x + a) * b ^ c) * d + (e ^ f);
    }

    [MethodImpl(No)]
    static ulong L33(ulong x)
    {
        Large room = default;
        room[(int)(x % 20)] = x;
        x = L34(x);
        return x + room[(int)(x % 20)];
    }

    [MethodImpl(No)]
    static ulong L34(ulong x)
    {
        Span<byte> room = stackalloc byte[16 + (int)(x % 64)];
        room[(int)(x % 16)] = 1;
        x = L35(x);
        return x + room[(int)(x % 16)];
    }

    [MethodImpl(No)]
    static ulong L35(ulong x) => L36<string>(x * 7, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, "") + 1;

    [MethodImpl(No)]
    static ulong L36<T>(ulong x, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, T h) =>
        L37(x + b + c + d + e + f + g) + (ulong)typeof(T).Name.Length;

    [MethodImpl(No)]
    static ulong L37(ulong x)
    {
        try
        {
            return L38(x) + 1;
        }
        finally
        {
            Ended++;
        }
    }

    [MethodImpl(No)]
    static ulong L38(ulong x) => L39(x + 1) + 1;

    [MethodImpl(No)]
    static ulong L39(ulong x)
    {
        ulong kept = x * 3;
        try
        {
            kept += Leaves.Chain(x);
        }
        catch (InvalidOperationException)
        {
            kept++;
        }
        return kept;
    }
}
