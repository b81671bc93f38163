/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/name.h"

#include <string.h>

#include "perfmap/maps/line.h"
#include "perfmap/names/method.h"
#include "perfmap/names/stub.h"
#include "perfmap/names/type.h"

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
	struct perfmap_span method;    /* without arguments */
	struct perfmap_span arguments; /* "(int32,string)", or empty */
	bool is_dotnet;		       /* it has an assembly */
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

/* Position of what belongs to the closing bracket or parenthesis, or len when there is none. */
static size_t opening(const char *s, size_t len, size_t close)
{
	char end = s[close], begin = end == ']' ? '[' : '(';
	size_t i = close + 1, depth = 0;

	while (i-- > 0) {
		if (s[i] == end)
			depth++;
		else if (s[i] == begin && --depth == 0)
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
		open = opening(raw, colons, i - 2);
		/* Elsewhere a bracket belongs to a type: "List`1[System.Int32] ". */
		if (open == colons || (open && raw[open - 1] != ' '))
			continue;
		p->assembly = (struct perfmap_span){raw + open + 1, i - 2 - (open + 1)};
		p->before = (struct perfmap_span){raw, open};
		p->is_dotnet = true;
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

/* Where the arguments begin in method[0..len), or len. A name may have parentheses itself: those of
 * the arguments are the last; of one that was cut by damage, the first. */
static size_t find_arguments(const char *method, size_t len)
{
	size_t at = len && method[len - 1] == ')' ? opening(method, len, len - 1) : len;
	const char *first = at == len ? memchr(method, '(', len) : NULL;

	return first ? (size_t)(first - method) : at;
}

/* Whether it has the form of a .NET method, whose runtime always names the assembly: others have
 * "::" in their names, too. */
static bool split(const char *raw, size_t len, struct pieces *p)
{
	const char *colons = memmem(raw, len, "::", 2), *comment, *method;
	size_t at, from, method_len;

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
	method_len = find_arguments(method, len - at - 2);
	p->method = (struct perfmap_span){method, method_len};
	p->arguments = (struct perfmap_span){method + method_len, len - at - 2 - method_len};
	return p->is_dotnet && p->owner.len && p->method.len;
}

/* True when that is the return type; init accessors return "void modreq(...IsExternalInit) ". */
static bool returns(const struct pieces *p, const char *type)
{
	struct perfmap_span before = p->before;
	size_t n = strlen(type);

	if (span_begins(before, "instance "))
		before = span_sub(before, strlen("instance "), before.len);
	if (!span_begins(before, type) || before.len == n || before.s[n] != ' ')
		return false;
	before = span_sub(before, n + 1, before.len);
	return !before.len || span_begins(before, "modreq(") || span_begins(before, "modopt(");
}

static struct perfmap_signature signature_of(const struct pieces *p)
{
	struct perfmap_signature signature = {
		/* A name that was cut by damage has no end. */
		.known = p->arguments.len > 1 && p->arguments.s[p->arguments.len - 1] == ')',
		.returns_void = returns(p, "void"),
		.closure = {"", 0},
	};
	size_t i, depth = 0;

	for (i = 0; i < p->arguments.len; i++) {
		char c = p->arguments.s[i];

		if (memchr("([<", c, 3))
			depth++;
		else if (memchr(")]>", c, 3) && depth)
			depth--;
		signature.arguments += c == ',' && depth == 1;
	}
	signature.arguments += signature.known && p->arguments.len > 2;
	return signature;
}

/* Code without a type: of DynamicMethod, of expression trees, of the runtime's IL stubs. */
static void put_dynamic(struct perfmap_out *out, const struct pieces *p, struct perfmap_name *name)
{
	name->is_dynamic = true;
	if (span_begins(p->method, "IL_STUB")) {
		name->is_stub = true;
		perfmap_out_text(out, perfmap_stub_group(p->method));
		return;
	}
	if (span_begins(p->method, "InvokeStub_")) {
		/* What reflection makes of a method that it calls often: InvokeStub_Type.Method. */
		perfmap_out_text(out, "<reflection>.");
		perfmap_out_span(out, span_sub(p->method, strlen("InvokeStub_"), p->method.len));
		return;
	}
	perfmap_out_text(out,
			 span_begins(p->method, "lambda_method") ? "<expression>." : "<dynamic>.");
	perfmap_out_span(out, p->method);
}

/*
 * Bodies that a compiler made of a method: MoveNext of a state machine (async ones return void),
 * and GenerateNext of F#'s seq. With the runtime's own async (.NET 10, when asked for) the method
 * itself is the body, and its return type says of which task it is a part: "int32
 * modreq([x]...Task`1)".
 */
static const char *body_of(const struct pieces *p, enum perfmap_owner_kind kind)
{
	bool machine = kind == PERFMAP_OWNER_STATE_MACHINE || kind == PERFMAP_OWNER_FUNCTION;

	if (machine && span_equals(p->method, "MoveNext"))
		return returns(p, "bool") ? " (iterator)" : " (async)";
	if (kind == PERFMAP_OWNER_FUNCTION && span_equals(p->method, "GenerateNext"))
		return " (iterator)";
	if (!machine && span_holds(p->before, " modreq(") &&
	    span_holds(p->before, "System.Threading.Tasks."))
		return " (async)";
	return "";
}

static void put_managed(struct perfmap_out *out, const struct pieces *p, struct perfmap_name *name)
{
	struct perfmap_signature signature = signature_of(p);
	enum perfmap_owner_kind kind;
	size_t before = out->len;
	struct perfmap_span at;
	const char *body;

	kind = perfmap_put_owner(out, p->owner, &at);
	body = body_of(p, kind);
	name->is_async = !strcmp(body, " (async)");
	name->is_iterator = !strcmp(body, " (iterator)");
	if (*body && (kind == PERFMAP_OWNER_STATE_MACHINE || kind == PERFMAP_OWNER_FUNCTION)) {
		perfmap_out_text(out, body);
		return;
	}
	if (out->len > before)
		perfmap_out_text(out, ".");
	if (kind == PERFMAP_OWNER_FUNCTION && span_equals(p->method, "Invoke")) {
		perfmap_out_text(out, "<lambda@");
		perfmap_out_span(out, at);
		perfmap_out_text(out, ">");
		return;
	}
	if (kind == PERFMAP_OWNER_CLOSURE && !perfmap_method_is_nested(p->method))
		perfmap_out_text(out, "<closure>.");
	if (kind == PERFMAP_OWNER_CLOSURE)
		signature.closure = at;
	perfmap_put_method(out, p->method, &signature);
	perfmap_out_text(out, body);
}

void perfmap_name_parse(const char *raw, size_t len, char *buf, size_t cap,
			struct perfmap_name *ret_name)
{
	struct perfmap_name name = {.tier = "", .assembly = buf};
	/* A quarter for the assembly, so that a hostile one cannot crowd out the method. */
	struct perfmap_out out = {.buf = buf, .cap = cap / 4};
	bool managed, dynamic, cut;
	struct pieces p;

	name.is_stub = perfmap_line_is_stub(raw, len);
	name.raw_len = name.is_stub ? len : strip_tier(raw, len, &name.tier);
	managed = !name.is_stub && split(raw, name.raw_len, &p);
	dynamic = managed && span_equals(p.owner, "dynamicClass");
	/* An IL stub belongs to nobody, whatever assembly needed it first. */
	if (managed && !(dynamic && span_begins(p.method, "IL_STUB")))
		perfmap_out_span(&out, p.assembly);
	perfmap_out_end(&out);
	cut = out.cut;

	name.display = buf + out.len + 1;
	out = (struct perfmap_out){.buf = buf + out.len + 1, .cap = cap - out.len - 1};
	if (dynamic)
		put_dynamic(&out, &p, &name);
	else if (managed)
		put_managed(&out, &p, &name);
	else if (name.is_stub)
		perfmap_out_text(&out, perfmap_stub_group((struct perfmap_span){raw, len}));
	else if (name.raw_len)
		perfmap_out_put(&out, raw, name.raw_len);
	if (!out.len)
		perfmap_out_text(&out, "[no name]");
	perfmap_out_end(&out);
	name.is_cut = cut || out.cut;
	*ret_name = name;
}

bool perfmap_is_framework(const struct perfmap_name *name)
{
	static const char *const whole[] = {
		"System", "Microsoft", "mscorlib", "netstandard", "WindowsBase", "MSBuild",
		"dotnet",
		/* Delegates that the framework compiles at run time: nobody finds them in a
		 * source. */
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
