/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What types hold: members of every kind, generic ones, those of interfaces. */
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Load;

namespace Shop.Names;

public interface IPriced
{
    ulong Price();
    ulong Discount() => Burn.Spin("Shop.Names.IPriced.Discount") + 1;
}

public interface IStore<T>
{
    ulong Save(T item);
    ulong Count { get; }
}

public interface IMaker<TSelf> where TSelf : IMaker<TSelf>
{
    static abstract ulong Make();
}

public class Thing : IPriced, IStore<string>, IStore<Dictionary<int, string>>, IMaker<Thing>
{
    static readonly ulong first;

    static Thing()
    {
        first = Burn.Spin("Shop.Names.Thing..cctor", 4);
    }

    public Thing(int slots)
    {
        Sum = first + Burn.Spin("Shop.Names.Thing..ctor", slots);
    }

    ~Thing()
    {
        Sum += Burn.Spin("Shop.Names.Thing.Finalize");
    }

    public ulong Sum;

    public ulong Value
    {
        get => Burn.Spin("Shop.Names.Thing.Value.get") + 1;
        set => Sum = value + Burn.Spin("Shop.Names.Thing.Value.set");
    }

    public ulong this[int slots]
    {
        get => Burn.Spin("Shop.Names.Thing.this[].get", slots) + 1;
        set => Sum = value + Burn.Spin("Shop.Names.Thing.this[].set", slots);
    }

    public event Action Changed
    {
        add => Sum += Burn.Spin("Shop.Names.Thing.Changed.add");
        remove => Sum += Burn.Spin("Shop.Names.Thing.Changed.remove");
    }

    public static Thing operator +(Thing a, Thing b)
    {
        a.Sum += Burn.Spin("Shop.Names.Thing.operator +");
        return a;
    }

    public static bool operator <=(Thing a, Thing b) => Burn.Spin("Shop.Names.Thing.operator <=") == 0;
    public static bool operator >=(Thing a, Thing b) => Burn.Spin("Shop.Names.Thing.operator >=") == 0;
    public static implicit operator ulong(Thing a) =>
        a.Sum + Burn.Spin("Shop.Names.Thing.implicit operator");
    public static explicit operator bool(Thing a) =>
        Burn.Spin("Shop.Names.Thing.explicit operator") == a.Sum;

    ulong IPriced.Price() => Burn.Spin("Shop.Names.Thing.IPriced.Price") + 1;
    ulong IStore<string>.Save(string item) => Burn.Spin("Shop.Names.Thing.IStore<string>.Save") + 1;
    ulong IStore<string>.Count => Burn.Spin("Shop.Names.Thing.IStore<string>.Count.get") + 1;
    ulong IStore<Dictionary<int, string>>.Save(Dictionary<int, string> item) =>
        Burn.Spin("Shop.Names.Thing.IStore<Dictionary<int,string>>.Save") + 1;
    ulong IStore<Dictionary<int, string>>.Count => 0;
    static ulong IMaker<Thing>.Make() => Burn.Spin("Shop.Names.Thing.IMaker<Thing>.Make") + 1;

    public static ulong MakeOf<T>() where T : IMaker<T> => T.Make() + 1;
}

public record Order(int Id)
{
    public override string ToString() => Burn.Spin("Shop.Names.Order.ToString").ToString();
}

public record struct Price(int Cents)
{
    public readonly bool Equals(Price other) => Burn.Spin("Shop.Names.Price.Equals") == 0;
    public override readonly int GetHashCode() => (int)Burn.Spin("Shop.Names.Price.GetHashCode");
}

/* A primary constructor; its parameter lives on in the method. */
public class Counter(int slots)
{
    public ulong Start { get; } = Burn.Spin("Shop.Names.Counter..ctor");
    public ulong Count() => Burn.Spin("Shop.Names.Counter.Count", slots) + 1;
}

public class Box<T>
{
    /* The runtime does not tell which reference type it is: all of them share this code. */
    public ulong Open() => Burn.Spin(typeof(T).IsValueType
        ? $"Shop.Names.Box<{(typeof(T) == typeof(int) ? "int" : typeof(T).Name)}>.Open"
        : "Shop.Names.Box<T>.Open") + 1;

    public ulong Generic<U>(U item) => Burn.Spin("Shop.Names.Box<int>.Generic") + 1;

    public class Lid<U>
    {
        public ulong Lift() => Burn.Spin("Shop.Names.Box<int>.Lid<double>.Lift") + 1;
    }

    public ulong Each() => Apply(item => Burn.Spin("Shop.Names.Box<int>.Each.<lambda>") + 1);

    static ulong Apply(Func<T?, ulong> f) => f(default) + 1;
}

public struct Pair<A, B>
{
    public readonly ulong Swap() => Burn.Spin("Shop.Names.Pair<int,KeyValuePair<byte,long>>.Swap") + 1;
}

public static class Extensions
{
    public static ulong Twice(this int slots) => Burn.Spin("Shop.Names.Extensions.Twice", slots) + 1;

    extension(string text)
    {
        public ulong Reversed => Burn.Spin("Shop.Names.Extensions.Reversed.get") + (ulong)text.Length;
        public ulong Repeat() => Burn.Spin("Shop.Names.Extensions.Repeat") + (ulong)text.Length;
    }
}

/* In metadata its name is a hash of this file's path. */
file static class Hidden
{
    public static ulong Work() => Burn.Spin("Shop.Names.Hidden.Work") + 1;
}

public static class Währung
{
    /* The runtime damages the map's line of it: nobody can name it from there. */
    public static ulong Rechne() => Burn.Spin("[jit]") + 1;
}

public static class Members
{
    public static ulong Run()
    {
        var thing = new Thing(1);
        ulong sum = thing.Value + thing[1] + ((IPriced)thing).Price() + ((IPriced)thing).Discount();
        thing.Value = sum;
        thing[2] = sum;
        Action none = () => { };
        thing.Changed += none;
        thing.Changed -= none;
        Thing twin = thing;
        sum += (thing + twin).Sum + (thing <= twin ? 1UL : 0) + (thing >= twin ? 1UL : 0);
        sum += thing + ((bool)thing ? 1UL : 0);
        IStore<string> store = thing;
        IStore<Dictionary<int, string>> other = thing;
        sum += store.Save("") + store.Count + other.Save([]) + Thing.MakeOf<Thing>();
        GC.SuppressFinalize(thing);
        sum += (ulong)new Order(1).ToString().Length;
        sum += new Price(1).Equals(new Price(2)) ? 1UL : 0;
        sum += (ulong)new Price(1).GetHashCode() + new Counter(1).Count();
        sum += new Box<int>().Open() + new Box<string>().Open() + new Box<Guid>().Open();
        sum += new Box<int>().Generic("") + new Box<int>.Lid<double>().Lift() + new Box<int>().Each();
        sum += new Pair<int, KeyValuePair<byte, long>>().Swap();
        sum += 1.Twice() + "a".Reversed + "b".Repeat() + Hidden.Work() + Währung.Rechne();
        Forget();
        GC.Collect();
        GC.WaitForPendingFinalizers();
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Forget()
    {
        _ = new Thing(0);
    }
}
