/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/method_text.h"

#include <stdio.h>
#include <string.h>

#include "perfmap/images/signature.h"

#define CALL_KIND    0x0fu
#define CALL_GENERIC 0x10u
#define CALL_THIS    0x20u
#define RANK_MAX     32u

struct reader {
	const struct perfmap_metadata *md;
	struct perfmap_work *work;
	struct perfmap_bytes bytes;
	size_t at;
	unsigned types_left;
	struct perfmap_out *out;		/* NULL: only passed over */
	const struct perfmap_method_blob *blob; /* NULL: it is of a row of the metadata */
};

static const char *const simple[] = {
	[0x01] = "void",    [0x02] = "bool",	    [0x03] = "char",   [0x04] = "int8",
	[0x05] = "uint8",   [0x06] = "int16",	    [0x07] = "uint16", [0x08] = "int32",
	[0x09] = "uint32",  [0x0a] = "int64",	    [0x0b] = "uint64", [0x0c] = "float32",
	[0x0d] = "float64", [0x0e] = "string",	    [0x16] = "refany", [0x18] = "native int",
	[0x1c] = "object",  [0x19] = "native uint",
};

static const char *const conventions[] = {
	[1] = "unmanaged cdecl ",
	[2] = "unmanaged stdcall ",
	[3] = "unmanaged thiscall ",
	[4] = "unmanaged fastcall ",
	[5] = "vararg ",
	[9] = "unmanaged ",
};

static bool put_type(struct reader *r, unsigned depth);

static void put(struct reader *r, const char *s)
{
	if (r->out)
		perfmap_out_put(r->out, s, strlen(s));
}

static bool number(struct reader *r, uint32_t *ret_value)
{
	size_t before = r->at;

	return perfmap_compressed(r->bytes, &r->at, ret_value) &&
	       perfmap_work_add(r->work, r->at - before);
}

static bool byte(struct reader *r, uint32_t *ret_value)
{
	if (r->at >= r->bytes.len || !perfmap_work_add(r->work, 1))
		return false;
	*ret_value = r->bytes.data[r->at++];
	return true;
}

static bool put_numbered(struct reader *r, const char *prefix)
{
	char text[16];
	uint32_t value;

	if (!number(r, &value))
		return false;
	snprintf(text, sizeof(text), "%s%u", prefix, value);
	put(r, text);
	return true;
}

/* "[System.Linq]System.Linq.Lookup`2/Grouping" */
static bool put_named(struct reader *r)
{
	struct perfmap_token token;
	struct perfmap_span assembly;
	uint32_t coded;

	if (!number(r, &coded) || !r->md)
		return false;
	token = perfmap_type_token(coded);
	if (!r->out)
		return token.row && token.row <= perfmap_metadata_rows(r->md, token.table);
	if (token.table == PERFMAP_TYPE_REF) {
		assembly = perfmap_type_assembly(r->md, r->work, token);
		put(r, "[");
		perfmap_out_put(r->out, assembly.s, assembly.len);
		put(r, "]");
	}
	return perfmap_put_type(r->md, r->work, token, "/", r->out);
}

/* Types with a separator between them. */
static bool put_list(struct reader *r, uint32_t cnt, unsigned depth)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			put(r, ",");
		if (!put_type(r, depth + 1))
			return false;
	}
	return true;
}

static bool put_instance(struct reader *r, unsigned depth)
{
	uint32_t cnt;

	if (!put_type(r, depth + 1) || !number(r, &cnt))
		return false;
	put(r, "<");
	if (!put_list(r, cnt, depth))
		return false;
	put(r, ">");
	return true;
}

/* "int32[0...,0...]" */
static bool put_array(struct reader *r, unsigned depth)
{
	uint32_t rank, sizes, lows, skipped;

	if (!put_type(r, depth + 1) || !number(r, &rank) || rank > RANK_MAX || !number(r, &sizes) ||
	    sizes > RANK_MAX)
		return false;
	for (uint32_t i = 0; i < sizes; i++)
		if (!number(r, &skipped))
			return false;
	if (!number(r, &lows) || lows > RANK_MAX)
		return false;
	for (uint32_t i = 0; i < lows; i++)
		if (!number(r, &skipped))
			return false;
	put(r, "[");
	for (uint32_t i = 0; i < rank; i++)
		put(r, i ? (i < lows ? ",0..." : ",") : (i < lows ? "0..." : ""));
	put(r, "]");
	return true;
}

/* "method void *(int32)", "method unmanaged void *()" */
static bool put_function(struct reader *r, unsigned depth)
{
	uint32_t convention, cnt;

	if (!byte(r, &convention) || !number(r, &cnt))
		return false;
	convention &= CALL_KIND;
	put(r, "method ");
	if (convention < sizeof(conventions) / sizeof(conventions[0]) && conventions[convention])
		put(r, conventions[convention]);
	if (!put_type(r, depth + 1))
		return false;
	put(r, " *(");
	if (!put_list(r, cnt, depth))
		return false;
	put(r, ")");
	return true;
}

/* The address of the runtime's own description stands in place of a type. */
static bool put_address(struct reader *r)
{
	uint64_t address;

	if (!r->blob || !r->blob->put_type || !perfmap_has(r->bytes, r->at, sizeof(address)) ||
	    !perfmap_work_add(r->work, sizeof(address)))
		return false;
	address = perfmap_u64_at(r->bytes.data + r->at);
	r->at += sizeof(address);
	return !r->out || r->blob->put_type(r->blob->source, address, r->out);
}

static bool put_suffixed(struct reader *r, unsigned depth, const char *suffix)
{
	if (!put_type(r, depth + 1))
		return false;
	put(r, suffix);
	return true;
}

/* The modifier stands before its type and is put behind it. */
static bool put_modified(struct reader *r, unsigned depth, const char *word)
{
	size_t modifier = r->at, rest;
	uint32_t skipped;

	if (!number(r, &skipped) || !put_type(r, depth + 1))
		return false;
	put(r, word);
	rest = r->at;
	r->at = modifier;
	if (!put_named(r))
		return false;
	r->at = rest;
	put(r, ")");
	return true;
}

/* What is put from now on is of no use. */
static bool gave_up(const struct reader *r)
{
	return (r->out && r->out->cut) || perfmap_work_exceeded(r->work);
}

static bool put_type(struct reader *r, unsigned depth)
{
	uint32_t what;

	if (depth > PERFMAP_SIGNATURE_DEPTH_MAX || !r->types_left || gave_up(r) || !byte(r, &what))
		return false;
	r->types_left--;
	switch (what) {
	case PERFMAP_ELEMENT_VALUE_TYPE:
		put(r, "valuetype ");
		return put_named(r);
	case PERFMAP_ELEMENT_CLASS:
		put(r, "class ");
		return put_named(r);
	case PERFMAP_ELEMENT_VAR:
		return put_numbered(r, "!");
	case PERFMAP_ELEMENT_METHOD_VAR:
		return put_numbered(r, "!!");
	case PERFMAP_ELEMENT_INSTANCE:
		return put_instance(r, depth);
	case PERFMAP_ELEMENT_VECTOR:
		return put_suffixed(r, depth, "[]");
	case PERFMAP_ELEMENT_POINTER:
		return put_suffixed(r, depth, "*");
	case PERFMAP_ELEMENT_BYREF:
		return put_suffixed(r, depth, "&");
	case PERFMAP_ELEMENT_ARRAY:
		return put_array(r, depth);
	case PERFMAP_ELEMENT_FUNCTION:
		return put_function(r, depth);
	case PERFMAP_ELEMENT_ADDRESS:
		return put_address(r);
	case PERFMAP_ELEMENT_REQUIRED:
		return put_modified(r, depth, " modreq(");
	case PERFMAP_ELEMENT_OPTIONAL:
		return put_modified(r, depth, " modopt(");
	default:
		if (what >= sizeof(simple) / sizeof(simple[0]) || !simple[what])
			return false;
		put(r, simple[what]);
		return true;
	}
}

/* Up to the return type. */
static bool begin(struct reader *r, uint32_t *ret_convention, uint32_t *ret_cnt)
{
	uint32_t skipped;

	return byte(r, ret_convention) &&
	       (!(*ret_convention & CALL_GENERIC) || number(r, &skipped)) && number(r, ret_cnt);
}

static struct reader reader_of(const struct perfmap_metadata *md, struct perfmap_bytes bytes,
			       struct perfmap_work *work, struct perfmap_out *out)
{
	return (struct reader){.md = md,
			       .work = work,
			       .bytes = bytes,
			       .types_left = PERFMAP_SIGNATURE_TYPES_MAX,
			       .out = out};
}

static void put_return(struct reader r)
{
	struct perfmap_out before = *r.out;
	uint32_t convention, cnt;

	if (!begin(&r, &convention, &cnt))
		return;
	if (convention & CALL_THIS)
		put(&r, "instance ");
	if (put_type(&r, 0))
		put(&r, " ");
	else if (!gave_up(&r))
		*r.out = before;
}

static void put_arguments(struct reader r)
{
	struct perfmap_out *out = r.out, before = *out;
	uint32_t convention, cnt;

	if (!begin(&r, &convention, &cnt))
		return;
	r.out = NULL;
	if (!put_type(&r, 0)) /* the return type is passed over */
		return;
	r.out = out;
	put(&r, "(");
	if (put_list(&r, cnt, 0))
		put(&r, ")");
	else if (!gave_up(&r))
		*out = before;
}

void perfmap_put_return(const struct perfmap_metadata *md, struct perfmap_work *work,
			struct perfmap_token method, struct perfmap_out *out)
{
	put_return(reader_of(md, perfmap_token_blob(md, method), work, out));
}

void perfmap_put_arguments(const struct perfmap_metadata *md, struct perfmap_work *work,
			   struct perfmap_token method, struct perfmap_out *out)
{
	put_arguments(reader_of(md, perfmap_token_blob(md, method), work, out));
}

void perfmap_put_blob_return(const struct perfmap_method_blob *blob, struct perfmap_work *work,
			     struct perfmap_out *out)
{
	struct reader r = reader_of(blob->md, blob->bytes, work, out);

	r.blob = blob;
	put_return(r);
}

void perfmap_put_blob_arguments(const struct perfmap_method_blob *blob, struct perfmap_work *work,
				struct perfmap_out *out)
{
	struct reader r = reader_of(blob->md, blob->bytes, work, out);

	r.blob = blob;
	put_arguments(r);
}
