/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_TYPE_H
#define PERFMAP_NAMES_TYPE_H
/*
 * Type names of .NET metadata in the words of the source code: the part of name.c that knows how
 * compilers (C#, some VB and F#) call the types they make. Input is a piece of a raw name, by
 * length. Not for use outside perfmap/. Pure, no threads.
 *
 * The compilers' naming is no contract but has been stable for years: C#, dotnet/roslyn
 * src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNameKind.cs and GeneratedNames.cs;
 * VB, src/Compilers/VisualBasic/Portable/Symbols/SynthesizedSymbols/GeneratedNameConstants.vb.
 */
#include "perfmap/names/span.h"

/* What the last part of an owner type turned out to be. */
enum perfmap_owner_kind {
	PERFMAP_OWNER_PLAIN,
	PERFMAP_OWNER_STATE_MACHINE, /* of an async or iterator method, whose name was put */
	PERFMAP_OWNER_CLOSURE,	     /* class that holds lambdas; not put */
	PERFMAP_OWNER_FUNCTION,	     /* F# closure: one lambda, the name of its function was put */
};

/*
 * Puts "Ns.Outer<int>.Inner" for "Ns.Outer`1+Inner[System.Int32]". ret_at: of
 * PERFMAP_OWNER_FUNCTION where it stands in the F# source, "12" or "12-1"; of a closure of VB the
 * number of its method; else empty.
 */
enum perfmap_owner_kind perfmap_put_owner(struct perfmap_out *out, struct perfmap_span owner,
					  struct perfmap_span *ret_at);
#endif
