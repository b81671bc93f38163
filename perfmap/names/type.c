/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/type.h"

#include <stdio.h>
#include <stdlib.h>

#include "perfmap/names/keyword.h"
#include "perfmap/names/method.h"

/* Types that exceed these are put as they are. Code that people write has fewer than 10. */
#define PARTS_MAX 32
#define ARGS_MAX  64
#define DEPTH_MAX 8

struct part {
	struct perfmap_span name; /* without `arity */
	unsigned int arity;
};

/* A type taken apart: parts[0] has the namespace. */
struct type {
	struct part parts[PARTS_MAX];
	unsigned int part_cnt;
	struct perfmap_span args[ARGS_MAX];
	unsigned int arg_cnt;
	struct perfmap_span suffix; /* "[]", "&", ... */
};

static bool is_array(struct perfmap_span inside)
{
	size_t i;

	for (i = 0; i < inside.len; i++) {
		if (!strchr(",.0123456789*", inside.s[i]) || !inside.s[i])
			return false;
	}
	return true;
}

/* Position of the ']' that belongs to the '[' at from, or len. */
static size_t matching_bracket(struct perfmap_span span, size_t from)
{
	size_t i, depth = 0;

	for (i = from; i < span.len; i++) {
		if (span.s[i] == '[')
			depth++;
		else if (span.s[i] == ']' && --depth == 0)
			break;
	}
	return i;
}

/* Splits "A,B[C,D]" at its outer commas. */
static bool split_args(struct type *t, struct perfmap_span list)
{
	size_t i, from = 0, depth = 0;

	for (i = 0; i <= list.len; i++) {
		if (i < list.len && list.s[i] == '[')
			depth++;
		else if (i < list.len && list.s[i] == ']' && depth)
			depth--;
		if (i < list.len && (list.s[i] != ',' || depth))
			continue;
		if (t->arg_cnt == ARGS_MAX)
			return false;
		t->args[t->arg_cnt++] = span_sub(list, from, i);
		from = i + 1;
	}
	return true;
}

static bool add_part(struct type *t, struct perfmap_span name)
{
	size_t i = name.len;
	unsigned int arity = 0;

	if (t->part_cnt == PARTS_MAX)
		return false;
	while (i && name.s[i - 1] >= '0' && name.s[i - 1] <= '9')
		i--;
	if (i && i < name.len && name.len - i <= 3 && name.s[i - 1] == '`') {
		size_t k;

		for (k = i; k < name.len; k++)
			arity = arity * 10 + (unsigned int)(name.s[k] - '0');
		name.len = i - 1;
	}
	t->parts[t->part_cnt++] = (struct part){name, arity};
	return true;
}

/* False when the type is beyond the bounds above. */
static bool split_type(struct perfmap_span type, struct type *t)
{
	size_t i, from = 0, angles = 0, end;

	t->part_cnt = t->arg_cnt = 0;
	for (i = 0; i < type.len; i++) {
		if (type.s[i] == '\\' && i + 1 < type.len) {
			i++;
		} else if (type.s[i] == '<') {
			angles++;
		} else if (type.s[i] == '>' && angles) {
			angles--;
		} else if (!angles && (type.s[i] == '+' || type.s[i] == '[')) {
			if (!add_part(t, span_sub(type, from, i)))
				return false;
			from = i + 1;
			if (type.s[i] == '[')
				break;
		}
	}
	if (i == type.len) {
		t->suffix = span_sub(type, i, i);
		return add_part(t, span_sub(type, from, i));
	}
	end = matching_bracket(type, i);
	if (end == type.len || is_array(span_sub(type, i + 1, end))) {
		t->suffix = span_sub(type, i, type.len);
		return true;
	}
	t->suffix = span_sub(type, end + 1, type.len);
	return split_args(t, span_sub(type, i + 1, end));
}

/* What a compiler-made type is to people. */
struct made {
	enum perfmap_owner_kind kind;
	const char *words;	  /* instead of its name, or NULL */
	struct perfmap_span name; /* the readable part */
	struct perfmap_span at; /* of functions their place, of VB closures their method's number */
};

/* Types that people never named; what follows these beginnings is a number or tells no more. */
static const struct {
	const char *begin, *words;
} unnamed[] = {
	{"<>f__AnonymousType", "<anonymous type>"},
	{"VB$AnonymousType_", "<anonymous type>"},
	{"<>z__ReadOnly", "<collection expression>"},
	{"<>y__InlineArray", "<inline array>"},
	{"<PrivateImplementationDetails>", "<compiler>"},
	{"Pipe #", "<pipe>"}, /* F#, of debug builds: Pipe #1 stage #1 at line 9@9 */
};

/* A file-local type is <file>F<hash of the path>__Name: position of the name, or 0. */
static size_t file_local_at(struct perfmap_span name, size_t close)
{
	size_t i;

	if (!close || close + 1 >= name.len || name.s[close + 1] != 'F')
		return 0;
	for (i = close + 2; i < name.len && memchr("0123456789ABCDEF", name.s[i], 16); i++)
		;
	if (i <= close + 9 || i + 2 >= name.len || name.s[i] != '_' || name.s[i + 1] != '_')
		return 0;
	return i + 2;
}

/* F# calls a closure function@line or function@line-number: position of the '@', or 0. */
static size_t fsharp_at(struct perfmap_span name)
{
	size_t i;

	for (i = name.len;
	     i && (span_is_digit(name.s[i - 1]) || (name.s[i - 1] == '-' && i < name.len));)
		i--;
	return i > 1 && i < name.len && name.s[i - 1] == '@' ? i - 1 : 0;
}

static struct made classify(struct perfmap_span name)
{
	struct made made = {.name = name, .at = span_sub(name, name.len, name.len)};
	size_t close = span_matching_angle(name), at = close + 1, i;

	if (span_begins(name, "<>c") && (name.len == 3 || name.s[3] == '_')) {
		made.kind = PERFMAP_OWNER_CLOSURE;
	} else if (span_begins(name, "_Closure$__")) {
		/* VB: _Closure$__METHOD-CLOSURE, or with 'R' before the numbers. */
		made.kind = PERFMAP_OWNER_CLOSURE;
		at = strlen("_Closure$__");
		at += at < name.len && name.s[at] == 'R';
		for (i = at; i < name.len && span_is_digit(name.s[i]); i++)
			;
		made.at = span_sub(name, at, i);
	} else if (close > 1 && at < name.len && name.s[at] == 'd' &&
		   (at + 1 == name.len || name.s[at + 1] == '_')) {
		made.kind = PERFMAP_OWNER_STATE_MACHINE;
		made.name = span_sub(name, 1, close);
	} else if (span_begins(name, "VB$StateMachine_")) {
		for (i = strlen("VB$StateMachine_"); i < name.len && name.s[i] != '_'; i++)
			;
		if (i + 1 < name.len) {
			made.kind = PERFMAP_OWNER_STATE_MACHINE;
			made.name = span_sub(name, i + 1, name.len);
		}
	} else if ((at = file_local_at(name, close))) {
		made.name = span_sub(name, at, name.len);
	} else if ((at = fsharp_at(name))) {
		made.kind = PERFMAP_OWNER_FUNCTION;
		made.name = span_sub(name, 0, at);
		made.at = span_sub(name, at + 1, name.len);
	}
	for (i = 0; i < sizeof(unnamed) / sizeof(unnamed[0]); i++) {
		if (span_begins(name, unnamed[i].begin))
			made.words = unnamed[i].words;
	}
	return made;
}

static void put_argument(struct perfmap_out *out, struct perfmap_span type, unsigned int depth);

/* "T", or "T2" where there are several. */
static void put_parameter(struct perfmap_out *out, unsigned int number, unsigned int arity)
{
	char digits[16] = "";

	perfmap_out_text(out, "T");
	if (arity > 1)
		snprintf(digits, sizeof(digits), "%u", number);
	perfmap_out_text(out, digits);
}

/* "<int,string>" of one part; *used counts the arguments that parts before it took. What the
 * runtime does not tell (all reference types share one body) reads as the parameter. */
static void put_arguments(struct perfmap_out *out, const struct type *t, unsigned int arity,
			  unsigned int *used, unsigned int depth)
{
	unsigned int i;

	/* A few bytes announce 999 arguments, in each of thousands of types. */
	for (i = 0; i < arity && !out->cut; i++) {
		bool told = *used < t->arg_cnt;
		struct perfmap_span argument = told ? t->args[(*used)++] : (struct perfmap_span){0};

		perfmap_out_text(out, i ? "," : "<");
		if (told && !span_equals(argument, "System.__Canon"))
			put_argument(out, argument, depth + 1);
		else
			put_parameter(out, i + 1, arity);
	}
	if (arity)
		perfmap_out_text(out, ">");
}

static void put_made(struct perfmap_out *out, const struct made *made, struct perfmap_span closure)
{
	if (made->words)
		perfmap_out_text(out, made->words);
	else if (made->kind == PERFMAP_OWNER_STATE_MACHINE)
		perfmap_put_state_machine(out, made->name, closure);
	else
		perfmap_out_span(out, made->name);
}

/* The type's parts, joined by dots; closures are left out. ret_made: of the last part. */
static void put_parts(struct perfmap_out *out, const struct type *t, bool with_namespace,
		      unsigned int depth, struct made *ret_made)
{
	struct perfmap_span closure = {"", 0};
	unsigned int i, arity, total = 0, used = 0;
	bool first = true;

	for (i = 0; i < t->part_cnt; i++)
		total += t->parts[i].arity;
	for (i = 0; i < t->part_cnt; i++) {
		struct perfmap_span name = t->parts[i].name;

		arity = t->parts[i].arity;
		/* Arguments that no arity announces belong to the last part. */
		if (i + 1 == t->part_cnt && t->arg_cnt > total)
			arity += t->arg_cnt - total;
		if (!i) {
			size_t dot = span_after_last_dot(name);

			if (with_namespace)
				perfmap_out_span(out, span_sub(name, 0, dot));
			name = span_sub(name, dot, name.len);
		}
		*ret_made = classify(name);
		if (ret_made->kind == PERFMAP_OWNER_CLOSURE) {
			used += arity;
			closure = ret_made->at;
			continue;
		}
		if (!first)
			perfmap_out_text(out, ".");
		first = false;
		put_made(out, ret_made, closure);
		put_arguments(out, t, arity, &used, depth);
	}
}

static void put_argument(struct perfmap_out *out, struct perfmap_span type, unsigned int depth)
{
	const char *keyword;
	struct made made;
	struct type *t;

	if (out->cut)
		return;
	/* "[Name, assembly]": the form with assemblies. */
	if (type.len > 1 && type.s[0] == '[') {
		const char *comma = memchr(type.s, ',', type.len);

		type = span_sub(type, 1, comma ? (size_t)(comma - type.s) : type.len - 1);
	}
	keyword = perfmap_keyword(type);
	if (keyword) {
		perfmap_out_text(out, keyword);
		return;
	}
	/* On the heap: with all levels on the stack it would be 14 KiB. */
	t = depth < DEPTH_MAX ? malloc(sizeof(*t)) : NULL;
	if (!t || !split_type(type, t)) {
		perfmap_out_span(out, type);
	} else {
		size_t before = out->len;

		if (t->suffix.len && t->part_cnt == 1 && !t->arg_cnt &&
		    (keyword = perfmap_keyword(t->parts[0].name)))
			perfmap_out_text(out, keyword);
		else {
			put_parts(out, t, false, depth, &made);
			if (made.kind == PERFMAP_OWNER_CLOSURE)
				perfmap_out_text(out,
						 out->len == before ? "<closure>" : ".<closure>");
		}
		perfmap_out_span(out, t->suffix);
	}
	free(t);
}

enum perfmap_owner_kind perfmap_put_owner(struct perfmap_out *out, struct perfmap_span owner,
					  struct perfmap_span *ret_at)
{
	struct made made;
	struct type t;

	*ret_at = span_sub(owner, owner.len, owner.len);
	if (!split_type(owner, &t)) {
		perfmap_out_span(out, owner);
		return PERFMAP_OWNER_PLAIN;
	}
	put_parts(out, &t, true, 0, &made);
	perfmap_out_span(out, t.suffix);
	*ret_at = made.at;
	return made.kind;
}
