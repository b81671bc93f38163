/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/name.h"

#include <string.h>

#include "perfmap/line.h"
#include "perfmap/type.h"

/* Ends of brackets tried from the right for "[assembly] "; it is the first or second one. */
#define BRACKETS_MAX 16

/* dotnet/runtime, src/coreclr/vm/perfmap.cpp (the tags) and codeversion.h (the tiers). */
static const char *const tiers[] = {
	"QuickJitted",	     "OptimizedTier1", "InstrumentedTier", "InstrumentedTierOptimized",
	"OptimizedTier1OSR", "Optimized",      "MinOptJitted",	   "PreJIT",
	"PreJit-cold",	     "Unknown",
};

/* A raw name taken apart; pieces point into it. */
struct pieces {
	struct perfmap_span before; /* "instance " and return type */
	struct perfmap_span assembly;
	struct perfmap_span owner;
	struct perfmap_span method; /* without arguments */
};

/* Length without "[Tier]"; the tier is set where there is one. */
static size_t strip_tier(const char *raw, size_t len, const char **ret_tier)
{
	size_t i, n;

	if (!len || raw[len - 1] != ']')
		return len;
	for (i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++) {
		n = strlen(tiers[i]) + 2;
		if (len > n && raw[len - n] == '[' && !memcmp(raw + len - n + 1, tiers[i], n - 2)) {
			*ret_tier = tiers[i];
			return len - n;
		}
	}
	return len;
}

/* Position of the '[' that belongs to the ']' at close, or len when there is none. */
static size_t opening_bracket(const char *s, size_t len, size_t close)
{
	size_t i = close + 1, depth = 0;

	while (i-- > 0) {
		if (s[i] == ']')
			depth++;
		else if (s[i] == '[' && --depth == 0)
			return i;
	}
	return len;
}

/* Where the owner begins in raw[0..colons): behind "[assembly] ", else behind the return type. */
static size_t find_owner(const char *raw, size_t colons, struct pieces *p)
{
	size_t i, depth = 0, tries = 0;

	for (i = colons; i >= 2 && tries < BRACKETS_MAX; i--) {
		size_t open;

		if (raw[i - 1] != ' ' || raw[i - 2] != ']')
			continue;
		tries++;
		open = opening_bracket(raw, colons, i - 2);
		/* Elsewhere a bracket belongs to a type: "List`1[System.Int32] ". */
		if (open == colons || (open && raw[open - 1] != ' '))
			continue;
		p->assembly = (struct perfmap_span){raw + open + 1, i - 2 - (open + 1)};
		p->before = (struct perfmap_span){raw, open};
		return i;
	}
	for (i = colons; i > 0; i--) {
		if (raw[i - 1] == ']' || raw[i - 1] == '>')
			depth++;
		else if ((raw[i - 1] == '[' || raw[i - 1] == '<') && depth)
			depth--;
		else if (raw[i - 1] == ' ' && !depth)
			break;
	}
	p->before = (struct perfmap_span){raw, i};
	return i;
}

static bool split(const char *raw, size_t len, struct pieces *p)
{
	const char *colons = memmem(raw, len, "::", 2), *comment, *method, *args;
	size_t at, from;

	memset(p, 0, sizeof(*p));
	if (!colons || colons == raw)
		return false;
	at = (size_t)(colons - raw);
	from = find_owner(raw, at, p);
	p->owner = (struct perfmap_span){raw + from, at - from};
	comment = memmem(p->owner.s, p->owner.len, " /* ", 4);
	if (comment)
		p->owner.len = (size_t)(comment - p->owner.s);
	method = colons + 2;
	args = memchr(method, '(', len - at - 2);
	p->method.s = method;
	p->method.len = args ? (size_t)(args - method) : len - at - 2;
	return p->owner.len && p->method.len;
}

static bool is(struct perfmap_span span, const char *s)
{
	return span.len == strlen(s) && !memcmp(span.s, s, span.len);
}

/* "stub<17> Kind<Owner>": the number goes, and an owner that only repeats the kind. */
static void put_stub(struct perfmap_out *out, const char *raw, size_t len)
{
	const char *rest = memchr(raw, ' ', len), *angle;
	size_t kind, rest_len;

	if (!rest) {
		perfmap_out_put(out, raw, len);
		return;
	}
	rest_len = len - (size_t)(rest - raw);
	perfmap_out_put(out, "stub", 4);
	angle = memchr(rest, '<', rest_len);
	kind = angle ? (size_t)(angle - rest) - 1 : 0;
	if (kind && rest_len == 2 * kind + 3 && !memcmp(rest + 1, angle + 1, kind))
		rest_len = kind + 1;
	perfmap_out_put(out, rest, rest_len);
}

/* True when the return type is bool: MoveNext of an iterator; async ones return void. */
static bool returns_bool(struct perfmap_span before)
{
	static const char end[] = "bool ";
	size_t n = sizeof(end) - 1;

	return before.len >= n && !memcmp(before.s + before.len - n, end, n);
}

static void put_managed(struct perfmap_out *out, const struct pieces *p, struct perfmap_name *name)
{
	enum perfmap_owner_kind kind;
	size_t before;

	if (is(p->owner, "dynamicClass")) {
		name->is_dynamic = true;
		perfmap_out_put(out, "dynamicClass.", 13);
		perfmap_out_put(out, p->method.s, p->method.len);
		return;
	}
	before = out->len;
	kind = perfmap_put_owner(out, p->owner);
	if ((kind == PERFMAP_OWNER_STATE_MACHINE || kind == PERFMAP_OWNER_FUNCTION) &&
	    is(p->method, "MoveNext")) {
		name->is_iterator = returns_bool(p->before);
		name->is_async = !name->is_iterator;
		if (name->is_async)
			perfmap_out_put(out, " (async)", 8);
		else
			perfmap_out_put(out, " (iterator)", 11);
		return;
	}
	if (out->len > before)
		perfmap_out_put(out, ".", 1);
	if (kind == PERFMAP_OWNER_FUNCTION && is(p->method, "Invoke")) {
		perfmap_out_put(out, "<lambda>", 8);
		return;
	}
	if (kind == PERFMAP_OWNER_CLOSURE && !perfmap_method_is_nested(p->method))
		perfmap_out_put(out, "<closure>.", 10);
	perfmap_put_method(out, p->method);
}

void perfmap_name_parse(const char *raw, size_t len, char *buf, size_t cap,
			struct perfmap_name *ret_name)
{
	struct perfmap_name name = {.tier = "", .assembly = buf};
	/* A quarter for the assembly, so that a hostile one cannot crowd out the method. */
	struct perfmap_out out = {.buf = buf, .cap = cap / 4};
	struct pieces p;
	bool managed, cut;

	name.is_stub = perfmap_line_is_stub(raw, len);
	name.raw_len = name.is_stub ? len : strip_tier(raw, len, &name.tier);
	managed = !name.is_stub && split(raw, name.raw_len, &p);
	if (managed)
		perfmap_out_put(&out, p.assembly.s, p.assembly.len);
	perfmap_out_end(&out);
	cut = out.cut;

	name.display = buf + out.len + 1;
	out = (struct perfmap_out){.buf = buf + out.len + 1, .cap = cap - out.len - 1};
	if (managed)
		put_managed(&out, &p, &name);
	else if (name.is_stub)
		put_stub(&out, raw, name.raw_len);
	else if (name.raw_len)
		perfmap_out_put(&out, raw, name.raw_len);
	if (!out.len)
		perfmap_out_put(&out, "[no name]", 9);
	perfmap_out_end(&out);
	name.is_cut = cut || out.cut;
	*ret_name = name;
}

bool perfmap_is_framework(const struct perfmap_name *name)
{
	static const char *const whole[] = {
		"System", "Microsoft", "mscorlib", "netstandard", "WindowsBase", "MSBuild",
		"dotnet",
		/* Delegates that the framework compiles at run time: nobody finds them in a source. */
		"Anonymously Hosted DynamicMethods Assembly"};
	const char *a = name->assembly;
	size_t i;

	/* NuGet.*, MSBuild and dotnet are the SDK. Other known libraries (Newtonsoft.Json) are a
	 * choice of the application: its own, as far as reading goes. */
	if (name->is_stub || !strncmp(a, "System.", 7) || !strncmp(a, "Microsoft.", 10) ||
	    !strncmp(a, "NuGet.", 6))
		return true;
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (!strcmp(a, whole[i]))
			return true;
	}
	return false;
}
