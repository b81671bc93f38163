/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/layout.h"

#include <errno.h>
#include <string.h>

#include "perfmap/names/span.h"

#define DEPTH_MAX 12u
#define KEYS_MAX  3u

#define TOKEN_BITS_MAX 23u
#define ALIGNMENT_MAX  64u
#define STUB_LAST_MAX  255u
#define ARRAY_MAX      64u
#define SLOTS_MAX      8u

static const struct {
	const char *type, *name;
	bool optional;
} fields[PERFMAP_LAYOUT_CNT] = {
#define ROW(id, type, name, optional) {type, name, optional},
	PERFMAP_LAYOUT_FIELDS(ROW)
#undef ROW
};

/* A value as far as anybody asks: a number, perhaps one that is an index into the pointers. */
struct value {
	bool is_number, is_index;
	uint64_t number;
	struct perfmap_span text; /* of a string */
};

struct parser {
	const char *s;
	size_t len, at;
	struct perfmap_span keys[KEYS_MAX]; /* of the objects around */
	struct perfmap_layout *layout;
	bool has_map;
};

static bool parse_value(struct parser *p, unsigned depth, unsigned keys, struct value *ret);

static void skip_blanks(struct parser *p)
{
	while (p->at < p->len && memchr(" \t\r\n", p->s[p->at], 4))
		p->at++;
}

static bool take(struct parser *p, char c)
{
	skip_blanks(p);
	if (p->at >= p->len || p->s[p->at] != c)
		return false;
	p->at++;
	return true;
}

/* Names there have no escapes; of what has some the text is as it stands. */
static bool parse_string(struct parser *p, struct perfmap_span *ret)
{
	size_t from;

	if (!take(p, '"'))
		return false;
	from = p->at;
	while (p->at < p->len && p->s[p->at] != '"')
		p->at += p->s[p->at] == '\\' ? 2 : 1;
	if (p->at >= p->len)
		return false;
	*ret = (struct perfmap_span){p->s + from, p->at - from};
	p->at++;
	return true;
}

static int digit_of(char c, unsigned base)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

/* All of the text. */
static bool number_of(struct perfmap_span s, uint64_t *ret_number)
{
	unsigned base = s.len > 2 && !memcmp(s.s, "0x", 2) ? 16 : 10;
	uint64_t n = 0;

	if (!s.len || s.len > 18)
		return false;
	for (size_t i = base == 16 ? 2 : 0; i < s.len; i++) {
		int digit = digit_of(s.s[i], base);

		if (digit < 0)
			return false;
		n = n * base + (uint64_t)digit;
	}
	*ret_number = n;
	return true;
}

static void keep_offset(struct perfmap_layout *l, struct perfmap_span type,
			struct perfmap_span name, uint64_t offset)
{
	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		if (span_equals(type, fields[i].type) && span_equals(name, fields[i].name))
			l->at[i] = (uint32_t)offset;
}

static void keep_global(struct parser *p, struct perfmap_span name, const struct value *v)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t most;
	} globals[] = {
		{"MethodDescTokenRemainderBitCount", offsetof(struct perfmap_layout, token_bits),
		 TOKEN_BITS_MAX},
		{"MethodDescAlignment", offsetof(struct perfmap_layout, method_alignment),
		 ALIGNMENT_MAX},
		{"StubCodeBlockLast", offsetof(struct perfmap_layout, stub_last), STUB_LAST_MAX},
		{"ArrayBaseSize", offsetof(struct perfmap_layout, array_bytes), ARRAY_MAX},
		{"HashMapSlotsPerBucket", offsetof(struct perfmap_layout, bucket_slots), SLOTS_MAX},
	};

	if (span_equals(name, "Architecture"))
		p->layout->is_arm64 = span_equals(v->text, "arm64");
	if (span_equals(name, "ExecutionManagerCodeRangeMapAddress") && v->is_index) {
		p->layout->map_index = (uint32_t)v->number;
		p->has_map = v->number < PERFMAP_LAYOUT_OFFSET_MAX;
	}
	if (span_equals(name, "ThreadStore") && v->is_index &&
	    v->number < PERFMAP_LAYOUT_OFFSET_MAX)
		p->layout->threads_index = (uint32_t)v->number;
	for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
		if (span_equals(name, globals[i].name) && v->is_number && !v->is_index &&
		    v->number <= globals[i].most)
			memcpy((char *)p->layout + globals[i].at, &(uint32_t){(uint32_t)v->number},
			       sizeof(uint32_t));
}

/* Of a contract: a number, or since .NET 11 "c1", "c2", ..., counted anew from what was the newest
 * number then. 0: neither. */
static uint64_t version_of(const struct value *v, uint32_t c1)
{
	struct perfmap_span digits = v->text;
	uint64_t number;

	if (v->is_number)
		return v->number;
	if (!digits.len || *digits.s != 'c')
		return 0;
	digits.s++;
	digits.len--;
	return number_of(digits, &number) && number ? c1 + number - 1 : 0;
}

static void keep_contract(struct perfmap_layout *l, struct perfmap_span name, const struct value *v)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t c1;
	} contracts[] = {
		{"ExecutionManager", offsetof(struct perfmap_layout, execution_manager), 2},
		{"RuntimeTypeSystem", offsetof(struct perfmap_layout, type_system), 1},
		{"Loader", offsetof(struct perfmap_layout, loader), 1},
	};

	for (size_t i = 0; i < sizeof(contracts) / sizeof(contracts[0]); i++) {
		uint64_t version = version_of(v, contracts[i].c1);

		if (span_equals(name, contracts[i].name) && version < UINT32_MAX)
			memcpy((char *)l + contracts[i].at, &(uint32_t){(uint32_t)version},
			       sizeof(uint32_t));
	}
}

/* A value whose keys are known. */
static void keep(struct parser *p, unsigned keys, const struct value *v)
{
	if (keys == 3 && span_equals(p->keys[0], "types") && v->is_number &&
	    v->number <= PERFMAP_LAYOUT_OFFSET_MAX)
		keep_offset(p->layout, p->keys[1], p->keys[2], v->number);
	else if (keys == 2 && span_equals(p->keys[0], "globals"))
		keep_global(p, p->keys[1], v);
	else if (keys == 2 && span_equals(p->keys[0], "contracts"))
		keep_contract(p->layout, p->keys[1], v);
}

static bool parse_object(struct parser *p, unsigned depth, unsigned keys)
{
	struct perfmap_span key;
	struct value v;

	if (take(p, '}'))
		return true;
	do {
		if (!parse_string(p, &key) || !take(p, ':'))
			return false;
		if (keys < KEYS_MAX)
			p->keys[keys] = key;
		if (!parse_value(p, depth + 1, keys < KEYS_MAX ? keys + 1 : KEYS_MAX + 1, &v))
			return false;
		if (keys < KEYS_MAX)
			keep(p, keys + 1, &v);
	} while (take(p, ','));
	return take(p, '}');
}

/* [VALUE, "type"]; one that stands alone is an index into the pointers. */
static bool parse_array(struct parser *p, unsigned depth, struct value *ret)
{
	struct value v, first = {0};
	size_t cnt = 0;

	if (take(p, ']'))
		return true;
	do {
		if (!parse_value(p, depth + 1, KEYS_MAX + 1, &v))
			return false;
		if (!cnt++)
			first = v;
	} while (take(p, ','));
	first.is_index |= cnt == 1;
	*ret = first;
	return take(p, ']');
}

/* Numbers, true, false, null. */
static bool parse_word(struct parser *p, struct value *ret)
{
	size_t from = p->at;

	while (p->at < p->len && !memchr(",]} \t\r\n", p->s[p->at], 7))
		p->at++;
	ret->is_number = number_of((struct perfmap_span){p->s + from, p->at - from}, &ret->number);
	return p->at > from;
}

/* keys: of the objects around that are kept. */
static bool parse_value(struct parser *p, unsigned depth, unsigned keys, struct value *ret)
{
	*ret = (struct value){0};
	skip_blanks(p);
	if (depth > DEPTH_MAX || p->at >= p->len)
		return false;
	switch (p->s[p->at]) {
	case '{':
		p->at++;
		return parse_object(p, depth, keys);
	case '[':
		p->at++;
		return parse_array(p, depth, ret);
	case '"':
		if (!parse_string(p, &ret->text))
			return false;
		ret->is_number = number_of(ret->text, &ret->number);
		return true;
	default:
		return parse_word(p, ret);
	}
}

static bool has_fields(const struct perfmap_layout *l)
{
	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		if (!fields[i].optional && !perfmap_layout_has(l, i))
			return false;
	return true;
}

static bool is_enough(const struct parser *p)
{
	return has_fields(p->layout) && (p->has_map || p->layout->hides_map);
}

bool perfmap_layout_is_sound(const struct perfmap_layout *l)
{
	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		if (l->at[i] > PERFMAP_LAYOUT_OFFSET_MAX && l->at[i] != PERFMAP_LAYOUT_NONE)
			return false;
	return has_fields(l) && l->map_index < PERFMAP_LAYOUT_OFFSET_MAX &&
	       l->threads_index < PERFMAP_LAYOUT_OFFSET_MAX && l->token_bits <= TOKEN_BITS_MAX &&
	       l->method_alignment <= ALIGNMENT_MAX && l->stub_last <= STUB_LAST_MAX &&
	       l->array_bytes <= ARRAY_MAX && l->bucket_slots <= SLOTS_MAX;
}

/*
 * .NET 9 tells of methods and types, but not of code: that lies as in .NET 10 (9.0.20), but for the
 * nibble map. Where the map of code ranges is has to be found.
 */
static void complete_code(struct perfmap_layout *l)
{
	static const struct {
		enum perfmap_layout_field field;
		uint32_t at;
	} code[] = {
		{PERFMAP_MAP_TOP, 0},
		{PERFMAP_FRAGMENT_BEGIN, 8},
		{PERFMAP_FRAGMENT_END, 16},
		{PERFMAP_FRAGMENT_SECTION, 24},
		{PERFMAP_FRAGMENT_NEXT, 0},
		{PERFMAP_SECTION_BEGIN, 0},
		{PERFMAP_SECTION_HEAP, 40},
		{PERFMAP_SECTION_IMAGE, 32},
		{PERFMAP_SECTION_FLAGS, 16},
		{PERFMAP_HEAP_START, 16},
		{PERFMAP_HEAP_END, 24},
		{PERFMAP_HEAP_BASE, 32},
		{PERFMAP_HEAP_MAP, 40},
		{PERFMAP_HEADER_METHOD, 24},
		{PERFMAP_HEADER_UNWIND_CNT, 32},
		{PERFMAP_HEADER_UNWIND, 36},
		{PERFMAP_FUNCTION_BYTES, 12},
		{PERFMAP_FUNCTION_BEGIN, 0},
		{PERFMAP_FUNCTION_END, 4},
		{PERFMAP_FUNCTION_UNWIND, 8},
		{PERFMAP_ARGUMENTS_LISTS, 4},
	};

	if (l->execution_manager || l->type_system != 1 || l->at[PERFMAP_ARGUMENTS_CNT] != 6 ||
	    l->at[PERFMAP_DYNAMIC_NAME] != 32 || l->is_arm64)
		return;
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		if (perfmap_layout_has(l, code[i].field))
			return;
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		l->at[code[i].field] = code[i].at;
	l->execution_manager = 1;
	l->hides_map = true;
}

/*
 * What .NET 10 and 9 do not tell, where all around it lies as in the builds that were looked at
 * (10.0.12, 9.0.20; 11.0.0 tells it, and it is the same): a module's name before its path, the tier
 * of a version between its list and its flags.
 */
static void complete(struct perfmap_layout *l)
{
	const uint32_t *at = l->at;

	if (!perfmap_layout_has(l, PERFMAP_MODULE_NAME) && at[PERFMAP_MODULE_PATH] == 200 &&
	    at[PERFMAP_MODULE_FILE] == 208 && at[PERFMAP_MODULE_ASSEMBLY] == 216)
		l->at[PERFMAP_MODULE_NAME] = 192;
	if (l->hides_map && at[PERFMAP_MODULE_PATH] == 272 && at[PERFMAP_MODULE_BASE] == 288)
		l->at[PERFMAP_MODULE_NAME] = 264;
	if (!perfmap_layout_has(l, PERFMAP_VERSION_TIER) && !at[PERFMAP_VERSION_CODE] &&
	    at[PERFMAP_VERSION_METHOD] == 8 && at[PERFMAP_VERSION_IL] == 16 &&
	    at[PERFMAP_VERSION_NEXT] == 24 && at[PERFMAP_VERSION_FLAGS] == 52)
		l->at[PERFMAP_VERSION_TIER] = 36;
}

int perfmap_layout_parse(const char *json, size_t len, struct perfmap_layout *ret_layout)
{
	struct perfmap_layout layout = {.token_bits = 12, .method_alignment = 8, .stub_last = 15};
	struct parser p = {.s = json, .len = len, .layout = &layout};
	struct value v;

	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		layout.at[i] = PERFMAP_LAYOUT_NONE;
	if (len > PERFMAP_LAYOUT_BYTES_MAX || !parse_value(&p, 0, 0, &v))
		return -EBADMSG;
	complete_code(&layout);
	if (!is_enough(&p))
		return -ENOTSUP;
	complete(&layout);
	*ret_layout = layout;
	return 0;
}
