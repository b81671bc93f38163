/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_METHOD_H
#define PERFMAP_NAMES_METHOD_H
/*
 * Method names of .NET metadata in the words of the source code: properties, operators, interface
 * members, lambdas and local functions. Sources as in type.h; operators: ECMA-335 I.10.3. Not for
 * use outside perfmap/. Pure, no threads.
 */
#include "perfmap/names/span.h"

/* What is known of a method beside its name. */
struct perfmap_signature {
	bool known; /* else the two below say nothing */
	bool returns_void;
	size_t arguments;
	/* VB: the number of the method whose closure this is in, or empty. Always known. */
	struct perfmap_span closure;
};

/* Puts "Main.<lambda 2>" for "<Main>b__0_1", "IThing.Do" for "My.Space.IThing.Do", ... */
void perfmap_put_method(struct perfmap_out *out, struct perfmap_span method,
			const struct perfmap_signature *signature);

/* The same of the method in a state machine's name: there C# writes an interface's dots as '-'.
 * closure: as in perfmap_signature. */
void perfmap_put_state_machine(struct perfmap_out *out, struct perfmap_span method,
			       struct perfmap_span closure);

/* True for lambdas and local functions: methods that name the method around them. */
bool perfmap_method_is_nested(struct perfmap_span method);
#endif
