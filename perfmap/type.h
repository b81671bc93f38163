/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_TYPE_H
#define PERFMAP_TYPE_H
/*
 * Type and method names of .NET metadata in the words of the source code: the part of name.c that
 * knows compilers (C#, some VB and F#). Input is a piece of a raw name, by length. Not for use
 * outside perfmap/. Pure, no threads.
 *
 * The compilers' naming is no contract but has been stable for years: C#, dotnet/roslyn
 * src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNameKind.cs and GeneratedNames.cs;
 * VB, src/Compilers/VisualBasic/Portable/Symbols/SynthesizedSymbols/GeneratedNameConstants.vb.
 */
#include <stdbool.h>
#include <stddef.h>

struct perfmap_span {
	const char *s;
	size_t len;
};

/* Bounded output; full at cap - 1 bytes, and then remembers that it was cut. */
struct perfmap_out {
	char *buf;
	size_t cap, len;
	bool cut;
};

void perfmap_out_put(struct perfmap_out *out, const char *s, size_t len);
/* Ends the text with NUL, and with "..." when it was cut. */
void perfmap_out_end(struct perfmap_out *out);

/* What the last part of an owner type turned out to be. */
enum perfmap_owner_kind {
	PERFMAP_OWNER_PLAIN,
	PERFMAP_OWNER_STATE_MACHINE, /* of an async or iterator method, whose name was put */
	PERFMAP_OWNER_CLOSURE,	     /* class that holds lambdas; not put */
	PERFMAP_OWNER_FUNCTION,	     /* F# closure: one lambda, the name of its function was put */
};

/* Puts "Ns.Outer<int>.Inner" for "Ns.Outer`1+Inner[System.Int32]". */
enum perfmap_owner_kind perfmap_put_owner(struct perfmap_out *out, struct perfmap_span owner);

/* Puts "Main.<lambda>" for "<Main>b__0_1", "IThing.Do" for "My.Space.IThing.Do", ... */
void perfmap_put_method(struct perfmap_out *out, struct perfmap_span method);

/* True for lambdas and local functions: methods that name the method around them. */
bool perfmap_method_is_nested(struct perfmap_span method);
#endif
