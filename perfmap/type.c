/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/type.h"

#include <stdlib.h>
#include <string.h>

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

static const struct {
	const char *name, *keyword;
} keywords[] = {
	{"System.Boolean", "bool"},  {"System.Byte", "byte"},	    {"System.SByte", "sbyte"},
	{"System.Char", "char"},     {"System.Decimal", "decimal"}, {"System.Double", "double"},
	{"System.Single", "float"},  {"System.Int32", "int"},	    {"System.UInt32", "uint"},
	{"System.IntPtr", "nint"},   {"System.UIntPtr", "nuint"},   {"System.Int64", "long"},
	{"System.UInt64", "ulong"},  {"System.Int16", "short"},	    {"System.UInt16", "ushort"},
	{"System.Object", "object"}, {"System.String", "string"},
};

void perfmap_out_put(struct perfmap_out *out, const char *s, size_t len)
{
	size_t room = out->cap - 1 - out->len, i;

	if (len > room) {
		len = room;
		out->cut = true;
	}
	for (i = 0; i < len; i++)
		out->buf[out->len++] = s[i] ? s[i] : '?';
}

void perfmap_out_end(struct perfmap_out *out)
{
	if (out->cut) {
		out->len = out->cap > 4 ? out->cap - 4 : 0;
		/* Not in the middle of a UTF-8 sequence. */
		while (out->len && ((unsigned char)out->buf[out->len] & 0xc0) == 0x80)
			out->len--;
		out->cut = false;
		perfmap_out_put(out, "...", 3);
		out->cut = true;
	}
	out->buf[out->len] = 0;
}

static void put_text(struct perfmap_out *out, const char *s)
{
	perfmap_out_put(out, s, strlen(s));
}

static void put_span(struct perfmap_out *out, struct perfmap_span span)
{
	perfmap_out_put(out, span.s, span.len);
}

static struct perfmap_span sub(struct perfmap_span span, size_t from, size_t to)
{
	return (struct perfmap_span){span.s + from, to - from};
}

static bool equals(struct perfmap_span span, const char *s)
{
	return span.len == strlen(s) && !memcmp(span.s, s, span.len);
}

static bool begins(struct perfmap_span span, const char *s)
{
	return span.len >= strlen(s) && !memcmp(span.s, s, strlen(s));
}

/* Position of the '>' that belongs to the '<' at 0; 0 when there is none. */
static size_t matching_angle(struct perfmap_span span)
{
	size_t i, depth = 0;

	for (i = 0; i < span.len; i++) {
		if (span.s[i] == '<')
			depth++;
		else if (span.s[i] == '>' && --depth == 0)
			return i;
		if (!depth)
			return 0;
	}
	return 0;
}

/* Position behind the last dot outside of <>; 0 when there is none. */
static size_t after_last_dot(struct perfmap_span span)
{
	size_t i, depth = 0;

	for (i = span.len; i-- > 0;) {
		if (span.s[i] == '>')
			depth++;
		else if (span.s[i] == '<' && depth)
			depth--;
		else if (span.s[i] == '.' && !depth)
			return i + 1;
	}
	return 0;
}

static const char *keyword_of(struct perfmap_span type)
{
	size_t i;

	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (equals(type, keywords[i].name))
			return keywords[i].keyword;
	}
	return NULL;
}

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
		t->args[t->arg_cnt++] = sub(list, from, i);
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
			if (!add_part(t, sub(type, from, i)))
				return false;
			from = i + 1;
			if (type.s[i] == '[')
				break;
		}
	}
	if (i == type.len) {
		t->suffix = sub(type, i, i);
		return add_part(t, sub(type, from, i));
	}
	end = matching_bracket(type, i);
	if (end == type.len || is_array(sub(type, i + 1, end))) {
		t->suffix = sub(type, i, type.len);
		return true;
	}
	t->suffix = sub(type, end + 1, type.len);
	return split_args(t, sub(type, i + 1, end));
}

/* What a compiler-made type name stands for; ret_name is its readable part. */
static enum perfmap_owner_kind classify(struct perfmap_span name, struct perfmap_span *ret_name)
{
	size_t close = matching_angle(name), at = close + 1, i;

	*ret_name = name;
	if (begins(name, "<>c") && (name.len == 3 || begins(name, "<>c_")))
		return PERFMAP_OWNER_CLOSURE;
	if (begins(name, "_Closure$__"))
		return PERFMAP_OWNER_CLOSURE;
	if (close > 1 && at < name.len && name.s[at] == 'd' &&
	    (at + 1 == name.len || name.s[at + 1] == '_')) {
		*ret_name = sub(name, 1, close);
		return PERFMAP_OWNER_STATE_MACHINE;
	}
	if (begins(name, "VB$StateMachine_")) {
		for (i = strlen("VB$StateMachine_"); i < name.len && name.s[i] != '_'; i++)
			;
		if (i + 1 < name.len) {
			*ret_name = sub(name, i + 1, name.len);
			return PERFMAP_OWNER_STATE_MACHINE;
		}
	}
	/* A file-local type: <file>F<hash of the path>__Name. */
	if (close && at < name.len && name.s[at] == 'F') {
		for (i = at + 1;
		     i < name.len && strchr("0123456789ABCDEF", name.s[i]) && name.s[i];)
			i++;
		if (i > at + 8 && i + 2 < name.len && name.s[i] == '_' && name.s[i + 1] == '_')
			*ret_name = sub(name, i + 2, name.len);
		return PERFMAP_OWNER_PLAIN;
	}
	/* F#: function@line, function@line-number. */
	for (i = name.len; i && ((name.s[i - 1] >= '0' && name.s[i - 1] <= '9') ||
				 (name.s[i - 1] == '-' && i < name.len));)
		i--;
	if (i > 1 && i < name.len && name.s[i - 1] == '@') {
		*ret_name = sub(name, 0, i - 1);
		return PERFMAP_OWNER_FUNCTION;
	}
	return PERFMAP_OWNER_PLAIN;
}

/* "<Main>b__0", "<Main>g__Local|0": position behind the '>', 0 for other methods. */
static size_t nested_at(struct perfmap_span method)
{
	size_t close = matching_angle(method);

	if (close < 2 || close + 3 >= method.len)
		return 0;
	if ((method.s[close + 1] != 'b' && method.s[close + 1] != 'g') ||
	    method.s[close + 2] != '_' || method.s[close + 3] != '_')
		return 0;
	return close + 1;
}

bool perfmap_method_is_nested(struct perfmap_span method)
{
	return nested_at(method) || begins(method, "_Lambda$__");
}

/* A type as C# writes it in the name of an implemented interface: namespaces away, keywords in. */
static void put_csharp_type(struct perfmap_out *out, struct perfmap_span type)
{
	size_t from = 0, i;

	for (i = 0; i <= type.len; i++) {
		struct perfmap_span word = sub(type, from, i);
		const char *keyword;

		if (i < type.len && !strchr("<>,[]", type.s[i]))
			continue;
		keyword = keyword_of(word);
		if (keyword)
			put_text(out, keyword);
		else
			put_span(out, sub(word, after_last_dot(word), word.len));
		if (i < type.len)
			perfmap_out_put(out, type.s + i, 1);
		from = i + 1;
	}
}

static void put_method(struct perfmap_out *out, struct perfmap_span m, unsigned int depth)
{
	size_t close = matching_angle(m), nested = nested_at(m), dot, i;

	if (depth == DEPTH_MAX) {
		put_span(out, m);
		return;
	}
	if (nested) {
		put_method(out, sub(m, 1, close), depth + 1);
		if (m.s[nested] == 'b') {
			put_text(out, ".<lambda>");
			return;
		}
		for (i = nested + 3; i < m.len && m.s[i] != '|'; i++)
			;
		put_text(out, ".");
		put_span(out, sub(m, nested + 3, i));
		return;
	}
	if (begins(m, "_Lambda$__")) {
		put_text(out, "<lambda>");
		return;
	}
	/* <Main>$ of top-level statements, <Main> that waits for an async Main, <Clone>$ of records. */
	if (close > 1 && (close + 1 == m.len || (close + 2 == m.len && m.s[close + 1] == '$'))) {
		put_method(out, sub(m, 1, close), depth + 1);
		return;
	}
	dot = after_last_dot(m);
	if (dot > 1) {
		put_csharp_type(out, sub(m, 0, dot - 1));
		put_text(out, ".");
	} else {
		dot = 0;
	}
	put_span(out, sub(m, dot, m.len));
}

void perfmap_put_method(struct perfmap_out *out, struct perfmap_span method)
{
	put_method(out, method, 0);
}

/* The method inside a state machine's name; there C# writes an interface's dots as '-'. */
static void put_state_machine(struct perfmap_out *out, struct perfmap_span name)
{
	char dotted[512];
	size_t i;

	if (name.len > sizeof(dotted) || !memchr(name.s, '-', name.len)) {
		put_method(out, name, 0);
		return;
	}
	for (i = 0; i < name.len; i++)
		dotted[i] = name.s[i] == '-' ? '.' : name.s[i];
	put_method(out, (struct perfmap_span){dotted, name.len}, 0);
}

static void put_argument(struct perfmap_out *out, struct perfmap_span type, unsigned int depth);

/* "<int,string>" of one part; *used counts the arguments that parts before it took. */
static void put_arguments(struct perfmap_out *out, const struct type *t, unsigned int arity,
			  unsigned int *used, unsigned int depth)
{
	unsigned int i;

	for (i = 0; i < arity; i++) {
		put_text(out, i ? "," : "<");
		if (*used < t->arg_cnt) {
			put_argument(out, t->args[(*used)++], depth + 1);
		} else {
			char digit[2] = {(char)('1' + i), 0};

			put_text(out, "T");
			if (arity > 1 && i < 9)
				put_text(out, digit);
		}
	}
	if (arity)
		put_text(out, ">");
}

/* The type's parts, joined by dots; closures are left out. */
static enum perfmap_owner_kind put_parts(struct perfmap_out *out, const struct type *t,
					 bool with_namespace, unsigned int depth)
{
	enum perfmap_owner_kind kind = PERFMAP_OWNER_PLAIN;
	unsigned int i, arity, total = 0, used = 0;
	bool first = true;

	for (i = 0; i < t->part_cnt; i++)
		total += t->parts[i].arity;
	for (i = 0; i < t->part_cnt; i++) {
		struct perfmap_span name = t->parts[i].name;

		if (!i && !with_namespace)
			name = sub(name, after_last_dot(name), name.len);
		kind = classify(name, &name);
		arity = t->parts[i].arity;
		/* Arguments that no arity announces belong to the last part. */
		if (i + 1 == t->part_cnt && t->arg_cnt > total)
			arity += t->arg_cnt - total;
		if (kind == PERFMAP_OWNER_CLOSURE) {
			used += arity;
			continue;
		}
		if (!first)
			put_text(out, ".");
		first = false;
		if (kind == PERFMAP_OWNER_STATE_MACHINE)
			put_state_machine(out, name);
		else
			put_span(out, name);
		put_arguments(out, t, arity, &used, depth);
	}
	return kind;
}

static void put_argument(struct perfmap_out *out, struct perfmap_span type, unsigned int depth)
{
	const char *keyword;
	struct type *t;

	/* "[Name, assembly]": the form with assemblies. */
	if (type.len > 1 && type.s[0] == '[') {
		const char *comma = memchr(type.s, ',', type.len);

		type = sub(type, 1, comma ? (size_t)(comma - type.s) : type.len - 1);
	}
	keyword = keyword_of(type);
	if (keyword) {
		put_text(out, keyword);
		return;
	}
	/* On the heap: with all levels on the stack it would be 14 KiB. */
	t = depth < DEPTH_MAX ? malloc(sizeof(*t)) : NULL;
	if (!t || !split_type(type, t)) {
		put_span(out, type);
	} else {
		struct perfmap_out before = *out;

		if (t->suffix.len && t->part_cnt == 1 && !t->arg_cnt &&
		    (keyword = keyword_of(t->parts[0].name)))
			put_text(out, keyword);
		else if (put_parts(out, t, false, depth) == PERFMAP_OWNER_CLOSURE)
			put_text(out, out->len == before.len ? "<closure>" : ".<closure>");
		put_span(out, t->suffix);
	}
	free(t);
}

enum perfmap_owner_kind perfmap_put_owner(struct perfmap_out *out, struct perfmap_span owner)
{
	enum perfmap_owner_kind kind = PERFMAP_OWNER_PLAIN;
	struct type t;

	if (!split_type(owner, &t)) {
		put_span(out, owner);
		return kind;
	}
	kind = put_parts(out, &t, true, 0);
	put_span(out, t.suffix);
	return kind;
}
