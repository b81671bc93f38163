/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/signature.h"

#include <string.h>

#include "perfmap/images/method_text.h"

/* Flags of a method. */
#define METHOD_INSTANTIATION 0x04u
#define METHOD_SLOT	     0x08u
#define METHOD_MEMBER_REF    0x10u
#define METHOD_CONSTRAINED   0x20u
#define METHOD_OWNER	     0x40u
#define METHOD_MODULE	     0x80u

#define RANK_MAX 32u

static const char *const simple[] = {
	[0x01] = "System.Void",	   [0x02] = "System.Boolean", [0x03] = "System.Char",
	[0x04] = "System.SByte",   [0x05] = "System.Byte",    [0x06] = "System.Int16",
	[0x07] = "System.UInt16",  [0x08] = "System.Int32",   [0x09] = "System.UInt32",
	[0x0a] = "System.Int64",   [0x0b] = "System.UInt64",  [0x0c] = "System.Single",
	[0x0d] = "System.Double",  [0x0e] = "System.String",  [0x16] = "System.TypedReference",
	[0x18] = "System.IntPtr",  [0x19] = "System.UIntPtr", [0x1c] = "System.Object",
	[0x3e] = "System.__Canon",
};

struct decoder {
	const struct perfmap_modules *modules; /* NULL where there is no output */
	struct perfmap_work *work;
	struct perfmap_bytes bytes;
	size_t at;
	struct perfmap_scope origin; /* of type arguments, whatever module their type is of */
	unsigned types_left;
	struct perfmap_out *out; /* NULL: only passed over */
};

static bool put_type(struct decoder *d, struct perfmap_scope scope, unsigned depth);

static bool span_equal(struct perfmap_span a, struct perfmap_span b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

static struct perfmap_scope scope_of(const struct perfmap_modules *modules,
				     const struct perfmap_metadata *md)
{
	return (struct perfmap_scope){md, perfmap_assembly_name(md, modules->work)};
}

/* An assembly by its name: perhaps the image's own. */
static struct perfmap_scope scope_named(const struct perfmap_modules *modules,
					struct perfmap_span name)
{
	struct perfmap_scope own = scope_of(modules, &modules->components[0]);

	return span_equal(own.assembly, name) ? own : (struct perfmap_scope){NULL, name};
}

/* In a composite image all assemblies are in the manifest, beside the table of components. */
static struct perfmap_scope scope_of_component(const struct perfmap_modules *modules, uint32_t row)
{
	struct perfmap_scope scope = {NULL, {"", 0}};

	if (modules->manifest)
		scope.assembly = perfmap_assembly_ref_name(modules->manifest, modules->work, row);
	if (!row || row > modules->components_cnt)
		return scope;
	if (perfmap_metadata_rows(&modules->components[row - 1], PERFMAP_MODULE))
		scope.md = &modules->components[row - 1];
	else
		*modules->missing = row - 1;
	return scope;
}

struct perfmap_scope perfmap_module_at(const struct perfmap_modules *modules, uint32_t index)
{
	const struct perfmap_metadata *own = &modules->components[0];
	uint32_t refs;

	/* The first is the manifest itself, here and below. */
	if (modules->composite)
		return scope_of_component(modules, index ? index - 1 : 0);
	if (!index)
		return scope_of(modules, own);
	refs = perfmap_metadata_rows(own, PERFMAP_ASSEMBLY_REF);
	if (index <= refs)
		return scope_named(modules, perfmap_assembly_ref_name(own, modules->work, index));
	if (!modules->manifest)
		return (struct perfmap_scope){NULL, {"", 0}};
	if (index == refs + 1)
		return scope_of(modules, modules->manifest);
	return scope_named(modules, perfmap_assembly_ref_name(modules->manifest, modules->work,
							      index - refs - 1));
}

static void put(struct decoder *d, const char *s)
{
	if (d->out)
		perfmap_out_put(d->out, s, strlen(s));
}

static bool number(struct decoder *d, uint32_t *ret_value)
{
	size_t before = d->at;

	return perfmap_compressed(d->bytes, &d->at, ret_value) &&
	       perfmap_work_add(d->work, d->at - before);
}

static bool element(struct decoder *d, uint32_t *ret_element)
{
	if (d->at >= d->bytes.len || !perfmap_work_add(d->work, 1))
		return false;
	*ret_element = d->bytes.data[d->at++];
	return true;
}

/* A type of its own blob. */
static bool put_spec(struct decoder *d, struct perfmap_scope scope, struct perfmap_token token,
		     unsigned depth)
{
	struct decoder inner = *d;
	bool good;

	inner.bytes = perfmap_token_blob(scope.md, token);
	inner.at = 0;
	inner.origin = scope;
	good = put_type(&inner, scope, depth + 1);
	d->types_left = inner.types_left;
	return good;
}

static bool put_token(struct decoder *d, struct perfmap_scope scope, unsigned depth)
{
	struct perfmap_token token;
	uint32_t coded;

	if (!number(d, &coded))
		return false;
	if (!d->out)
		return true;
	token = perfmap_type_token(coded);
	if (!scope.md || !token.row)
		return false;
	if (token.table == PERFMAP_TYPE_SPEC)
		return put_spec(d, scope, token, depth);
	return perfmap_put_type(scope.md, d->work, token, "+", d->out);
}

/* "Ns.Box`1[System.Int32]" */
static bool put_instance(struct decoder *d, struct perfmap_scope scope, unsigned depth)
{
	uint32_t cnt;

	if (!put_type(d, scope, depth + 1) || !number(d, &cnt))
		return false;
	put(d, "[");
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			put(d, ",");
		if (!put_type(d, d->origin, depth + 1))
			return false;
	}
	put(d, "]");
	return true;
}

/* "System.Int32[,]" */
static bool put_array(struct decoder *d, struct perfmap_scope scope, unsigned depth)
{
	uint32_t rank, cnt, skipped;

	if (!put_type(d, scope, depth + 1) || !number(d, &rank) || rank > RANK_MAX)
		return false;
	for (int bounds = 0; bounds < 2; bounds++) {
		if (!number(d, &cnt) || cnt > RANK_MAX)
			return false;
		while (cnt--)
			if (!number(d, &skipped))
				return false;
	}
	put(d, rank == 1 ? "[*" : "[");
	for (uint32_t i = 1; i < rank; i++)
		put(d, ",");
	put(d, "]");
	return true;
}

/* "System.Int32(System.String)" */
static bool put_function(struct decoder *d, struct perfmap_scope scope, unsigned depth)
{
	uint32_t convention, cnt;

	if (!element(d, &convention) || !number(d, &cnt) || !put_type(d, scope, depth + 1))
		return false;
	put(d, "(");
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			put(d, ",");
		if (!put_type(d, scope, depth + 1))
			return false;
	}
	put(d, ")");
	return true;
}

static bool put_suffixed(struct decoder *d, struct perfmap_scope scope, unsigned depth,
			 const char *suffix)
{
	if (!put_type(d, scope, depth + 1))
		return false;
	put(d, suffix);
	return true;
}

static bool put_type(struct decoder *d, struct perfmap_scope scope, unsigned depth)
{
	uint32_t what, value;

	if (depth > PERFMAP_SIGNATURE_DEPTH_MAX || !d->types_left || (d->out && d->out->cut) ||
	    !element(d, &what))
		return false;
	d->types_left--;
	switch (what) {
	case PERFMAP_ELEMENT_VALUE_TYPE:
	case PERFMAP_ELEMENT_CLASS:
		return put_token(d, scope, depth);
	case PERFMAP_ELEMENT_INSTANCE:
		return put_instance(d, scope, depth);
	case PERFMAP_ELEMENT_VECTOR:
		return put_suffixed(d, scope, depth, "[]");
	case PERFMAP_ELEMENT_POINTER:
		return put_suffixed(d, scope, depth, "*");
	case PERFMAP_ELEMENT_BYREF:
		return put_suffixed(d, scope, depth, "&");
	case PERFMAP_ELEMENT_ARRAY:
		return put_array(d, scope, depth);
	case PERFMAP_ELEMENT_FUNCTION:
		return put_function(d, scope, depth);
	case PERFMAP_ELEMENT_NATIVE_VALUE_TYPE:
	case PERFMAP_ELEMENT_PINNED:
		return put_type(d, scope, depth + 1);
	case PERFMAP_ELEMENT_MODULE:
		if (!number(d, &value))
			return false;
		if (d->out)
			scope = perfmap_module_at(d->modules, value);
		return put_type(d, scope, depth + 1);
	case PERFMAP_ELEMENT_REQUIRED:
	case PERFMAP_ELEMENT_OPTIONAL:
		return number(d, &value) && put_type(d, scope, depth + 1);
	case PERFMAP_ELEMENT_VAR:
	case PERFMAP_ELEMENT_METHOD_VAR:
	case PERFMAP_ELEMENT_VAR_TOKEN: /* of no instantiation: code for all of them is not made */
		put(d, "T");
		return number(d, &value);
	default:
		if (what >= sizeof(simple) / sizeof(simple[0]) || !simple[what])
			return false;
		put(d, simple[what]);
		return true;
	}
}

static struct decoder decoder_at(const struct perfmap_modules *modules, struct perfmap_work *work,
				 struct perfmap_bytes b, size_t at)
{
	return (struct decoder){
		.modules = modules,
		.work = work,
		.bytes = b,
		.at = at,
		.types_left = PERFMAP_SIGNATURE_TYPES_MAX,
	};
}

bool perfmap_signature_parse(struct perfmap_bytes b, size_t at, struct perfmap_work *work,
			     struct perfmap_method_signature *ret)
{
	struct decoder d = decoder_at(NULL, work, b, at);
	struct perfmap_method_signature s = {0};
	uint32_t flags, value, cnt = 0;

	if (!number(&d, &flags) || (flags & METHOD_MODULE && !number(&d, &s.module)))
		return false;
	if (flags & METHOD_OWNER) {
		s.owner_at = d.at;
		if (!put_type(&d, d.origin, 0))
			return false;
	}
	if (!number(&d, &value))
		return false;
	s.method.table = flags & METHOD_MEMBER_REF ? PERFMAP_MEMBER_REF : PERFMAP_METHOD_DEF;
	s.method.row = flags & METHOD_SLOT ? 0 : value;
	if (flags & METHOD_INSTANTIATION && !number(&d, &cnt))
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		if (!put_type(&d, d.origin, 0))
			return false;
	if (flags & METHOD_CONSTRAINED && !put_type(&d, d.origin, 0))
		return false;
	s.end = d.at;
	*ret = s;
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static void put_span(struct perfmap_out *out, struct perfmap_span s)
{
	perfmap_out_put(out, s.s, s.len);
}

static void put_assembly(struct perfmap_out *out, struct perfmap_span assembly)
{
	perfmap_out_put(out, "[", 1);
	put_span(out, assembly);
	perfmap_out_put(out, "] ", 2);
}

/* Where types that have an element of their own are defined. */
static struct perfmap_scope scope_of_core(const struct perfmap_modules *modules)
{
	static const struct perfmap_span name = {"System.Private.CoreLib", 22};

	if (!modules->composite)
		return scope_named(modules, name);
	for (uint32_t row = 1; modules->manifest && row <= modules->components_cnt; row++)
		if (span_equal(perfmap_assembly_ref_name(modules->manifest, modules->work, row),
			       name))
			return scope_of_component(modules, row);
	return (struct perfmap_scope){NULL, name};
}

/*
 * Where the type at d is defined, for which d is a copy; of an instance its generic type. md is
 * NULL where that is another file.
 */
static struct perfmap_scope scope_at(struct decoder d, struct perfmap_scope scope)
{
	struct perfmap_token token;
	uint32_t what, value;

	while (d.types_left-- && element(&d, &what)) {
		switch (what) {
		case PERFMAP_ELEMENT_MODULE:
			if (!number(&d, &value))
				return scope;
			scope = perfmap_module_at(d.modules, value);
			continue;
		case PERFMAP_ELEMENT_VALUE_TYPE:
		case PERFMAP_ELEMENT_CLASS:
			if (!scope.md || !number(&d, &value))
				return scope;
			token = perfmap_type_token(value);
			if (token.table == PERFMAP_TYPE_REF)
				return (struct perfmap_scope){
					NULL, perfmap_type_assembly(scope.md, d.work, token)};
			return scope;
		case PERFMAP_ELEMENT_INSTANCE:
		case PERFMAP_ELEMENT_NATIVE_VALUE_TYPE:
		case PERFMAP_ELEMENT_VECTOR:
		case PERFMAP_ELEMENT_ARRAY:
			continue;
		default:
			return scope_of_core(d.modules);
		}
	}
	return scope;
}

/* "[assembly] Owner" of a type given by a token. */
static bool put_owner_token(const struct perfmap_modules *modules, struct perfmap_scope scope,
			    struct perfmap_token owner, struct perfmap_out *out)
{
	struct decoder d;

	if (owner.table != PERFMAP_TYPE_SPEC) {
		put_assembly(out, perfmap_type_assembly(scope.md, modules->work, owner));
		return perfmap_put_type(scope.md, modules->work, owner, "+", out);
	}
	d = decoder_at(modules, modules->work, perfmap_token_blob(scope.md, owner), 0);
	d.origin = scope;
	put_assembly(out, scope_at(d, scope).assembly);
	d.out = out;
	return put_type(&d, scope, 0);
}

/* The owner's type is told: a row of METHOD_DEF is of the assembly that defines it. */
static bool put_owned(const struct perfmap_modules *modules, struct perfmap_bytes b,
		      const struct perfmap_method_signature *signature, struct perfmap_out *out)
{
	struct perfmap_scope scope = perfmap_module_at(modules, signature->module);
	struct decoder d = decoder_at(modules, modules->work, b, signature->owner_at);
	struct perfmap_scope owner = scope_at(d, scope);
	struct perfmap_scope methods =
		signature->method.table == PERFMAP_MEMBER_REF ? scope : owner;
	struct perfmap_span name;

	if (!methods.md)
		return false;
	name = perfmap_method_name(methods.md, modules->work, signature->method);
	perfmap_put_return(methods.md, modules->work, signature->method, out);
	put_assembly(out, owner.assembly);
	d.origin = scope;
	d.out = out;
	if (!name.len || !put_type(&d, scope, 0))
		return false;
	perfmap_out_put(out, "::", 2);
	put_span(out, name);
	perfmap_put_arguments(methods.md, modules->work, signature->method, out);
	return true;
}

static bool put_method(const struct perfmap_modules *modules, struct perfmap_scope scope,
		       struct perfmap_token method, struct perfmap_out *out)
{
	struct perfmap_span name = perfmap_method_name(scope.md, modules->work, method);

	if (!name.len)
		return false;
	perfmap_put_return(scope.md, modules->work, method, out);
	if (!put_owner_token(modules, scope, perfmap_method_owner(scope.md, method), out))
		return false;
	perfmap_out_put(out, "::", 2);
	put_span(out, name);
	perfmap_put_arguments(scope.md, modules->work, method, out);
	return true;
}

bool perfmap_put_instance(const struct perfmap_modules *modules, struct perfmap_bytes b,
			  const struct perfmap_method_signature *signature, struct perfmap_out *out)
{
	struct perfmap_scope scope;

	if (signature->owner_at)
		return put_owned(modules, b, signature, out);
	scope = perfmap_module_at(modules, signature->module);
	return scope.md && put_method(modules, scope, signature->method, out);
}

bool perfmap_put_method_def(const struct perfmap_modules *modules,
			    const struct perfmap_metadata *md, uint32_t row,
			    struct perfmap_out *out)
{
	return put_method(modules, scope_of(modules, md),
			  (struct perfmap_token){PERFMAP_METHOD_DEF, row}, out);
}
