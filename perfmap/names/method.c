/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/method.h"

#include "perfmap/names/keyword.h"

/* Methods in methods; code that people write has fewer than 4. */
#define DEPTH_MAX 8

static const struct {
	const char *name, *sign;
} operators[] = {
	{"Addition", "+"},	   {"Subtraction", "-"},
	{"Multiply", "*"},	   {"Multiplication", "*"}, /* of op_MultiplicationAssignment */
	{"Division", "/"},	   {"Modulus", "%"},
	{"BitwiseAnd", "&"},	   {"BitwiseOr", "|"},
	{"ExclusiveOr", "^"},	   {"LeftShift", "<<"},
	{"RightShift", ">>"},	   {"UnsignedRightShift", ">>>"},
	{"Equality", "=="},	   {"Inequality", "!="},
	{"LessThan", "<"},	   {"GreaterThan", ">"},
	{"LessThanOrEqual", "<="}, {"GreaterThanOrEqual", ">="},
	{"UnaryPlus", "+"},	   {"UnaryNegation", "-"},
	{"LogicalNot", "!"},	   {"OnesComplement", "~"},
	{"Increment", "++"},	   {"Decrement", "--"},
	{"True", "true"},	   {"False", "false"},
};

/* "<Main>b__0", "<Main>g__Local|0": position behind the '>', 0 for other methods. */
static size_t nested_at(struct perfmap_span method)
{
	size_t close = span_matching_angle(method);

	if (close < 2 || close + 3 >= method.len)
		return 0;
	if ((method.s[close + 1] != 'b' && method.s[close + 1] != 'g') ||
	    method.s[close + 2] != '_' || method.s[close + 3] != '_')
		return 0;
	return close + 1;
}

bool perfmap_method_is_nested(struct perfmap_span method)
{
	return nested_at(method) || span_begins(method, "_Lambda$__");
}

/* A type as C# writes it in the name of an implemented interface: namespaces away, keywords in. */
static void put_csharp_type(struct perfmap_out *out, struct perfmap_span type)
{
	size_t from = 0, i;

	for (i = 0; i <= type.len; i++) {
		struct perfmap_span word = span_sub(type, from, i);
		const char *keyword;

		if (i < type.len && !memchr("<>,[]", type.s[i], 5))
			continue;
		keyword = perfmap_keyword(word);
		if (keyword)
			perfmap_out_text(out, keyword);
		else
			perfmap_out_span(out, span_sub(word, span_after_last_dot(word), word.len));
		if (i < type.len)
			perfmap_out_put(out, type.s + i, 1);
		from = i + 1;
	}
}

/* "+", "checked +" and, from C# 14 on, "+=" behind "operator "; false: no operator's name. */
static bool put_operator(struct perfmap_out *out, struct perfmap_span m)
{
	static const char assignment[] = "Assignment";
	size_t end = sizeof(assignment) - 1, i;
	bool checked, assigns;

	if (!span_begins(m, "op_"))
		return false;
	m = span_sub(m, 3, m.len);
	if (span_equals(m, "Implicit") || span_equals(m, "Explicit")) {
		perfmap_out_text(out, m.s[0] == 'I' ? "implicit operator" : "explicit operator");
		return true;
	}
	checked = span_begins(m, "Checked");
	if (checked)
		m = span_sub(m, strlen("Checked"), m.len);
	assigns = m.len > end && !memcmp(m.s + m.len - end, assignment, end);
	if (assigns)
		m.len -= end;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (!span_equals(m, operators[i].name))
			continue;
		perfmap_out_text(out, checked ? "operator checked " : "operator ");
		perfmap_out_text(out, operators[i].sign);
		/* ++ and -- have no other form. */
		if (assigns && operators[i].sign[1] != '+' && operators[i].sign[1] != '-')
			perfmap_out_text(out, "=");
		return true;
	}
	return false;
}

/* "Value.get" for "get_Value"; indexers are "this[].get". False: no accessor's name. */
static bool put_accessor(struct perfmap_out *out, struct perfmap_span m,
			 const struct perfmap_signature *signature)
{
	static const struct {
		const char *begin, *end;
		bool is_void;
		size_t arguments; /* of one that is no indexer */
	} accessors[] = {
		{"get_", ".get", false, 0},
		{"set_", ".set", true, 1},
		{"add_", ".add", true, 1},
		{"remove_", ".remove", true, 1},
	};
	size_t i, begin;

	for (i = 0; i < sizeof(accessors) / sizeof(accessors[0]); i++) {
		begin = strlen(accessors[i].begin);
		if (!span_begins(m, accessors[i].begin) || m.len == begin)
			continue;
		if (signature->known && (signature->returns_void != accessors[i].is_void ||
					 signature->arguments < accessors[i].arguments))
			return false;
		m = span_sub(m, begin, m.len);
		/* Without an index it is a property that is called so. */
		if (span_equals(m, "Item") &&
		    (!signature->known || signature->arguments > accessors[i].arguments))
			perfmap_out_text(out, "this[]");
		else
			perfmap_out_span(out, m);
		perfmap_out_text(out, accessors[i].end);
		return true;
	}
	return false;
}

static void put_method(struct perfmap_out *out, struct perfmap_span m,
		       const struct perfmap_signature *signature, unsigned int depth);

/* The method around it, then "<lambda 2>" for b__0_1, "Local" for g__Local|0_1. */
static void put_nested(struct perfmap_out *out, struct perfmap_span m, size_t nested,
		       unsigned int depth)
{
	static const struct perfmap_signature unknown = {.closure = {"", 0}};
	size_t i, number = nested + 3;

	put_method(out, span_sub(m, 1, nested - 1), &unknown, depth + 1);
	perfmap_out_text(out, ".");
	if (m.s[nested] == 'b') {
		/* The last number counts the lambdas of the method; '#' opens that of an edit. */
		for (i = number; i < m.len && m.s[i] != '#'; i++)
			if (m.s[i] == '_')
				number = i + 1;
		perfmap_out_numbered(out, "lambda", span_number(span_sub(m, number, m.len)) + 1);
		return;
	}
	for (i = number; i < m.len && m.s[i] != '|'; i++)
		;
	perfmap_out_span(out, span_sub(m, number, i));
}

/* VB: _Lambda$__METHOD-LAMBDA, in a closure _Lambda$__LAMBDA; 'R' before it: it only converts. */
static void put_vb_lambda(struct perfmap_out *out, struct perfmap_span m,
			  struct perfmap_span closure)
{
	size_t skip = strlen("_Lambda$__");

	skip += skip < m.len && m.s[skip] == 'R';
	perfmap_out_text(out, "<lambda ");
	if (closure.len) {
		perfmap_out_span(out, closure);
		perfmap_out_text(out, "-");
	}
	perfmap_out_span(out, span_sub(m, skip, m.len));
	perfmap_out_text(out, ">");
}

/* Compilers' own methods in a type that people wrote. */
static bool put_helper(struct perfmap_out *out, struct perfmap_span m, struct perfmap_span closure)
{
	static const char finally[] = "<>m__Finally";
	size_t close = span_matching_angle(m);

	if (span_begins(m, "_Lambda$__"))
		put_vb_lambda(out, m, closure);
	else if (span_begins(m, finally))
		perfmap_out_numbered(out, "finally",
				     span_number(span_sub(m, strlen(finally), m.len)));
	else if (span_begins(m, "<>n__"))
		perfmap_out_text(out, "<call of base>");
	else if (close > 1 && span_begins(span_sub(m, close + 1, m.len), "__debug@"))
		/* F#: the copy of an inline function for debugging. */
		perfmap_out_span(out, span_sub(m, 1, close));
	else
		return false;
	return true;
}

static void put_method(struct perfmap_out *out, struct perfmap_span m,
		       const struct perfmap_signature *signature, unsigned int depth)
{
	size_t close = span_matching_angle(m), nested = nested_at(m), dot;

	if (depth == DEPTH_MAX) {
		perfmap_out_span(out, m);
		return;
	}
	if (nested) {
		put_nested(out, m, nested, depth);
		return;
	}
	if (put_helper(out, m, signature->closure))
		return;
	/* <Main>$ of top-level statements, <Main> that waits for an async Main, <Clone>$ of
	 * records. */
	if (close > 1 && (close + 1 == m.len || (close + 2 == m.len && m.s[close + 1] == '$'))) {
		put_method(out, span_sub(m, 1, close), signature, depth + 1);
		return;
	}
	dot = span_after_last_dot(m);
	if (dot > 1) {
		put_csharp_type(out, span_sub(m, 0, dot - 1));
		perfmap_out_text(out, ".");
		m = span_sub(m, dot, m.len);
	}
	if (!put_operator(out, m) && !put_accessor(out, m, signature))
		perfmap_out_span(out, m);
}

void perfmap_put_method(struct perfmap_out *out, struct perfmap_span method,
			const struct perfmap_signature *signature)
{
	put_method(out, method, signature, 0);
}

void perfmap_put_state_machine(struct perfmap_out *out, struct perfmap_span method,
			       struct perfmap_span closure)
{
	struct perfmap_signature signature = {.closure = closure};
	char dotted[512];
	size_t i;

	/* VB numbers its lambdas with '-'. */
	if (method.len > sizeof(dotted) || span_begins(method, "_Lambda$__")) {
		put_method(out, method, &signature, 0);
		return;
	}
	for (i = 0; i < method.len; i++)
		dotted[i] = method.s[i] == '-' ? '.' : method.s[i];
	put_method(out, (struct perfmap_span){dotted, method.len}, &signature, 0);
}
