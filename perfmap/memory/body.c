/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "perfmap/images/method_text.h"
#include "perfmap/images/signature.h"

#define METHOD_KIND		 7u
#define METHOD_KIND_IL		 0u
#define METHOD_KIND_INSTANTIATED 5u
#define METHOD_KIND_DYNAMIC	 7u
/* What lies behind it, in this order (RuntimeTypeSystem.md). */
#define METHOD_SLOT	  0x8u
#define METHOD_IMPLEMENTS 0x10u
#define METHOD_NATIVE	  0x20u
#define METHOD_ASYNC	  0x40u
#define METHOD_TIERED	  0x8000u /* of the flags that stand with the token */

/* In the address of a type: it is not that of a MethodTable. */
#define TYPE_POINTER		2u
#define TYPE_CATEGORY		0x000f0000u
#define TYPE_CATEGORY_ARRAYS	0x000c0000u
#define TYPE_CATEGORY_ARRAY	0x00080000u
#define TYPE_CATEGORY_VECTOR	0x000a0000u
#define TYPE_COLLECTIBLE	0x00200000u
#define TYPE_COMPONENTS		0x80000000u /* the lower half is their size */
#define TYPE_GENERIC		0x30u
#define TYPE_GENERIC_DEFINITION 0x30u
#define TYPE_TOKEN_SHIFT	8u
#define CLASS_IS_CANONICAL	1u

#define DYNAMIC_IS_METHOD 0x4000u /* not a stub of IL */

/* Its code is not optimized: JitOptimizationDisabled of dotnet/runtime
 * docs/design/datacontracts/Loader.md. Of .NET 5 to 7 the bit was unused. */
#define MODULE_DEBUGGABLE 0x2u

#define NAME_BYTES	4096u
#define SIGNATURE_BYTES 4096u
#define ARGUMENTS_MAX	256u
#define RANK_MAX	32u
#define VERSIONS_MAX	64u

struct text {
	struct perfmap_memory_reader *r;
	const struct perfmap_layout *layout;
	struct perfmap_modules_read *modules;
	struct perfmap_out *out;
	struct perfmap_work work; /* on metadata */
	unsigned types_left;
};

/* What the runtime says of a method. */
struct method {
	uint64_t address, type, module;
	uint32_t flags, token_flags, row;
};

static bool put_type(struct text *t, uint64_t type, unsigned depth);

static uint64_t u64_of(struct text *t, uint64_t object, enum perfmap_layout_field f)
{
	return perfmap_memory_u64(t->r, object + t->layout->at[f]);
}

static uint32_t u32_of(struct text *t, uint64_t object, enum perfmap_layout_field f)
{
	return perfmap_memory_u32(t->r, object + t->layout->at[f]);
}

static uint32_t u16_of(struct text *t, uint64_t object, enum perfmap_layout_field f)
{
	return perfmap_memory_u16(t->r, object + t->layout->at[f]);
}

/* --- types ------------------------------------------------------------------------------------ */

/* Its own name, without arguments. */
static bool put_plain(struct text *t, uint64_t type, const char *nested)
{
	const struct perfmap_metadata *md =
		perfmap_module_metadata(t->modules, u64_of(t, type, PERFMAP_TYPE_MODULE));
	struct perfmap_token token = {PERFMAP_TYPE_DEF,
				      u32_of(t, type, PERFMAP_TYPE_TOKEN) >> TYPE_TOKEN_SHIFT};

	return md && perfmap_put_type(md, &t->work, token, nested, t->out);
}

static bool put_list(struct text *t, uint64_t types, uint32_t cnt, unsigned depth)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (i)
			perfmap_out_text(t->out, ",");
		if (!put_type(t, perfmap_memory_u64(t->r, types + 8ull * i), depth + 1))
			return false;
	}
	return true;
}

/* "System.Int32(System.String)" */
static bool put_function(struct text *t, uint64_t other, unsigned depth)
{
	uint32_t cnt = 0;
	uint64_t types = 0;

	if (perfmap_layout_has(t->layout, PERFMAP_POINTER_CNT) &&
	    perfmap_layout_has(t->layout, PERFMAP_POINTER_TYPES)) {
		cnt = u32_of(t, other, PERFMAP_POINTER_CNT);
		types = other + t->layout->at[PERFMAP_POINTER_TYPES];
	}
	if (!types || cnt > ARGUMENTS_MAX ||
	    !put_type(t, perfmap_memory_u64(t->r, types), depth + 1))
		return false;
	perfmap_out_text(t->out, "(");
	if (!put_list(t, types + 8, cnt, depth))
		return false;
	perfmap_out_text(t->out, ")");
	return true;
}

/* A type that is no MethodTable. */
static bool put_other(struct text *t, uint64_t other, unsigned depth)
{
	uint32_t kind = u32_of(t, other, PERFMAP_OTHER_KIND) & 0xff;

	switch (kind) {
	case PERFMAP_ELEMENT_VAR:
	case PERFMAP_ELEMENT_METHOD_VAR:
		perfmap_out_text(t->out, "T");
		return true;
	case PERFMAP_ELEMENT_FUNCTION:
		return put_function(t, other, depth);
	case PERFMAP_ELEMENT_POINTER:
	case PERFMAP_ELEMENT_BYREF:
	case PERFMAP_ELEMENT_VALUE_TYPE:
		if (!put_type(t, u64_of(t, other, PERFMAP_OTHER_OF), depth + 1))
			return false;
		if (kind != PERFMAP_ELEMENT_VALUE_TYPE)
			perfmap_out_text(t->out, kind == PERFMAP_ELEMENT_POINTER ? "*" : "&");
		return true;
	default:
		return false;
	}
}

/* By what its objects have before their elements: bounds, of 8 bytes each. */
static uint32_t rank_of_bytes(struct text *t, uint64_t type)
{
	uint32_t bytes;

	if (!t->layout->array_bytes || !perfmap_layout_has(t->layout, PERFMAP_TYPE_BYTES))
		return 0;
	bytes = u32_of(t, type, PERFMAP_TYPE_BYTES) - t->layout->array_bytes;
	return bytes % 8 ? 0 : bytes / 8;
}

static uint32_t rank_of(struct text *t, uint64_t type)
{
	uint64_t class = u64_of(t, type, PERFMAP_TYPE_CLASS);

	if (!perfmap_layout_has(t->layout, PERFMAP_ARRAY_RANK))
		return rank_of_bytes(t, type);
	if (class & CLASS_IS_CANONICAL)
		class = u64_of(t, class & ~(uint64_t)CLASS_IS_CANONICAL, PERFMAP_TYPE_CLASS);
	return perfmap_memory_u8(t->r, class + t->layout->at[PERFMAP_ARRAY_RANK]);
}

/* "System.Int32[,]" */
static bool put_array(struct text *t, uint64_t type, uint32_t flags, unsigned depth)
{
	bool is_vector = (flags & TYPE_CATEGORY) == TYPE_CATEGORY_VECTOR;
	uint32_t rank = is_vector ? 0 : rank_of(t, type);

	if ((!is_vector && !rank) || rank > RANK_MAX ||
	    !put_type(t, u64_of(t, type, PERFMAP_TYPE_ARGUMENTS), depth + 1))
		return false;
	perfmap_out_text(t->out, rank == 1 ? "[*" : "[");
	for (uint32_t i = 1; i < rank; i++)
		perfmap_out_text(t->out, ",");
	perfmap_out_text(t->out, "]");
	return true;
}

/* "[System.Int32,System.__Canon]": the last list is the type's own, those before are of the types
 * that it derives from. */
static bool put_arguments(struct text *t, uint64_t type, unsigned depth)
{
	uint64_t lists = u64_of(t, type, PERFMAP_TYPE_ARGUMENTS), info = lists - 8;
	uint32_t cnt = u16_of(t, info, PERFMAP_ARGUMENTS_CNT);
	uint32_t list = u16_of(t, info, PERFMAP_ARGUMENTS_LISTS);

	if (!cnt || cnt > ARGUMENTS_MAX || !list)
		return false;
	perfmap_out_text(t->out, "[");
	if (!put_list(t, perfmap_memory_u64(t->r, lists + 8ull * (list - 1)), cnt, depth))
		return false;
	perfmap_out_text(t->out, "]");
	return true;
}

static bool put_type(struct text *t, uint64_t type, unsigned depth)
{
	uint32_t flags;

	if (depth > PERFMAP_SIGNATURE_DEPTH_MAX || !t->types_left || t->out->cut || t->r->failed)
		return false;
	t->types_left--;
	if (type & TYPE_POINTER)
		return put_other(t, type & ~(uint64_t)TYPE_POINTER, depth);
	flags = u32_of(t, type, PERFMAP_TYPE_FLAGS);
	if ((flags & TYPE_CATEGORY_ARRAYS) == TYPE_CATEGORY_ARRAY)
		return put_array(t, type, flags, depth);
	if (!put_plain(t, type, "+"))
		return false;
	return flags & TYPE_COMPONENTS || !(flags & TYPE_GENERIC) || put_arguments(t, type, depth);
}

/* As the runtime has it in signatures that it made itself. */
static bool put_described(void *source, uint64_t address, struct perfmap_out *out)
{
	struct text *t = source;
	char number[48];

	(void)out; /* the same */
	if (address & TYPE_POINTER || !t->types_left || t->r->failed)
		return false;
	t->types_left--;
	if (!put_plain(t, address, "/"))
		return false;
	snprintf(number, sizeof(number), " /* MT: 0x%llx */", (unsigned long long)address);
	perfmap_out_text(t->out, number);
	return true;
}

/* --- methods ---------------------------------------------------------------------------------- */

static struct method read_method(struct text *t, uint64_t address)
{
	const struct perfmap_layout *l = t->layout;
	struct method m = {.address = address};
	uint64_t chunk;

	m.flags = u16_of(t, address, PERFMAP_METHOD_FLAGS);
	m.token_flags = u16_of(t, address, PERFMAP_METHOD_TOKEN);
	chunk = address -
		(uint64_t)perfmap_memory_u8(t->r, address + l->at[PERFMAP_METHOD_INDEX]) *
			l->method_alignment -
		l->at[PERFMAP_CHUNK_BYTES];
	m.row = (u16_of(t, chunk, PERFMAP_CHUNK_TOKEN) & (0xffffffu >> l->token_bits))
			<< l->token_bits |
		(m.token_flags & ((1u << l->token_bits) - 1));
	m.type = u64_of(t, chunk, PERFMAP_CHUNK_TYPE);
	m.module = u64_of(t, m.type, PERFMAP_TYPE_MODULE);
	return m;
}

/* md NULL: of an assembly that was made at run time. */
static void put_assembly(struct text *t, const struct perfmap_metadata *md, uint64_t module)
{
	char name[PERFMAP_IDENTIFIER_MAX] = "";

	perfmap_out_text(t->out, "[");
	if (md)
		perfmap_out_span(t->out, perfmap_assembly_name(md, &t->work));
	else if (perfmap_layout_has(t->layout, PERFMAP_MODULE_NAME))
		perfmap_memory_text(t->r, u64_of(t, module, PERFMAP_MODULE_NAME), name,
				    sizeof(name));
	perfmap_out_text(t->out, name);
	perfmap_out_text(t->out, "] ");
}

/* Where a method keeps what is told of asynchronous ones; 0: that is not known. */
static uint64_t async_data(const struct perfmap_layout *l, const struct method *m)
{
	static const struct {
		uint32_t flag;
		enum perfmap_layout_field bytes;
	} before[] = {{METHOD_SLOT, PERFMAP_SLOT_BYTES},
		      {METHOD_IMPLEMENTS, PERFMAP_IMPLEMENTS_BYTES},
		      {METHOD_NATIVE, PERFMAP_NATIVE_BYTES}};
	uint32_t kind = m->flags & METHOD_KIND;
	enum perfmap_layout_field own =
		kind == METHOD_KIND_IL ? PERFMAP_METHOD_BYTES : PERFMAP_INSTANCE_BYTES;
	uint64_t address = m->address;

	if ((kind != METHOD_KIND_IL && kind != METHOD_KIND_INSTANTIATED) ||
	    !perfmap_layout_has(l, own))
		return 0;
	address += l->at[own];
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		if (!(m->flags & before[i].flag))
			continue;
		if (!perfmap_layout_has(l, before[i].bytes))
			return 0;
		address += l->at[before[i].bytes];
	}
	return address;
}

/* The signature of a method as it is called where it may be suspended (.NET 11), which is not that
 * of its row: void for a Task. Into bytes of SIGNATURE_BYTES; *ret_len 0 = that of its row. False:
 * not known. */
static bool async_signature(struct text *t, const struct method *m, uint8_t *bytes,
			    uint32_t *ret_len)
{
	uint64_t data, signature;

	*ret_len = 0;
	if (!(m->flags & METHOD_ASYNC) || !perfmap_layout_has(t->layout, PERFMAP_ASYNC_SIGNATURE))
		return true;
	data = async_data(t->layout, m);
	if (!data)
		return false;
	data += t->layout->at[PERFMAP_ASYNC_SIGNATURE];
	signature = perfmap_memory_u64(t->r, data);
	*ret_len = signature ? perfmap_memory_u32(t->r, data + 8) : 0;
	if (*ret_len > SIGNATURE_BYTES)
		return false;
	perfmap_memory_get(t->r, signature, bytes, *ret_len);
	return true;
}

static int put_metadata_method(struct text *t, const struct method *m)
{
	const struct perfmap_metadata *md = perfmap_module_metadata(t->modules, m->module);
	struct perfmap_token token = {PERFMAP_METHOD_DEF, m->row};
	uint8_t signature[SIGNATURE_BYTES];
	struct perfmap_method_blob blob = {md, {signature, 0}, NULL, NULL};
	struct perfmap_span name;
	uint32_t len;

	if (!md)
		return -ENODATA;
	name = perfmap_method_name(md, &t->work, token);
	if (!name.len || !async_signature(t, m, signature, &len))
		return -ENODATA;
	blob.bytes.len = len;
	if (blob.bytes.len)
		perfmap_put_blob_return(&blob, &t->work, t->out);
	else
		perfmap_put_return(md, &t->work, token, t->out);
	put_assembly(t, md, m->module);
	if (!put_type(t, m->type, 0))
		return -ENODATA;
	perfmap_out_text(t->out, "::");
	perfmap_out_span(t->out, name);
	if (blob.bytes.len)
		perfmap_put_blob_arguments(&blob, &t->work, t->out);
	else
		perfmap_put_arguments(md, &t->work, token, t->out);
	return 0;
}

/* One without metadata: its name and signature lie with it. */
static int put_dynamic(struct text *t, const struct method *m)
{
	const struct perfmap_metadata *md = perfmap_module_metadata(t->modules, m->module);
	uint8_t signature[SIGNATURE_BYTES];
	struct perfmap_method_blob blob = {md, {signature, 0}, put_described, t};
	char name[NAME_BYTES];

	blob.bytes.len = u32_of(t, m->address, PERFMAP_SIGNATURE_BYTES);
	if (blob.bytes.len > sizeof(signature))
		return -E2BIG;
	perfmap_memory_get(t->r, u64_of(t, m->address, PERFMAP_SIGNATURE), signature,
			   blob.bytes.len);
	perfmap_memory_text(t->r, u64_of(t, m->address, PERFMAP_DYNAMIC_NAME), name, sizeof(name));
	perfmap_put_blob_return(&blob, &t->work, t->out);
	put_assembly(t, md, m->module);
	perfmap_out_text(t->out, "dynamicClass::");
	perfmap_out_text(t->out, name);
	perfmap_put_blob_arguments(&blob, &t->work, t->out);
	return 0;
}

/* --- tiers ------------------------------------------------------------------------------------ */

/* The tier of the version whose code that is; NULL: the first code of the method. */
static const char *tier_of_version(struct text *t, const struct method *m, uint64_t start,
				   bool *ret_is_version)
{
	/* NativeCodeVersion::OptimizationTier of dotnet/runtime. */
	static const char *const tiers[] = {"QuickJitted",	 "OptimizedTier1",
					    "OptimizedTier1OSR", "Optimized",
					    "InstrumentedTier",	 "InstrumentedTierOptimized"};
	const struct perfmap_layout *l = t->layout;
	uint64_t data, versions, version;
	uint32_t tier;

	*ret_is_version = true; /* as far as is known */
	if (!perfmap_layout_has(l, PERFMAP_METHOD_CODE) ||
	    !perfmap_layout_has(l, PERFMAP_CODE_VERSIONS) ||
	    !perfmap_layout_has(l, PERFMAP_VERSIONS_FIRST) ||
	    !perfmap_layout_has(l, PERFMAP_VERSION_NEXT) ||
	    !perfmap_layout_has(l, PERFMAP_VERSION_CODE))
		return NULL;
	*ret_is_version = false;
	data = u64_of(t, m->address, PERFMAP_METHOD_CODE);
	versions = data ? u64_of(t, data, PERFMAP_CODE_VERSIONS) : 0;
	version = versions ? u64_of(t, versions, PERFMAP_VERSIONS_FIRST) : 0;
	for (unsigned i = 0; i < VERSIONS_MAX && version && !t->r->failed; i++) {
		if (u64_of(t, version, PERFMAP_VERSION_CODE) == start) {
			*ret_is_version = true;
			tier = perfmap_layout_has(l, PERFMAP_VERSION_TIER)
				       ? u32_of(t, version, PERFMAP_VERSION_TIER)
				       : UINT32_MAX;
			return tier < sizeof(tiers) / sizeof(tiers[0]) ? tiers[tier] : NULL;
		}
		version = u64_of(t, version, PERFMAP_VERSION_NEXT);
	}
	return NULL;
}

static bool is_debuggable(struct text *t, const struct method *m)
{
	return perfmap_layout_has(t->layout, PERFMAP_MODULE_FLAGS) &&
	       u32_of(t, m->module, PERFMAP_MODULE_FLAGS) & MODULE_DEBUGGABLE;
}

/* That a method is given another tier now changes nothing of its name. */
static void put_tier(struct text *t, const struct method *m, const struct perfmap_code *code)
{
	bool is_version, notes = t->r->notes, failed = t->r->failed;
	const char *tier;

	if (code->is_precompiled) {
		perfmap_out_text(t->out, "[PreJIT]");
		return;
	}
	t->r->notes = false;
	tier = tier_of_version(t, m, code->start, &is_version);
	if (!tier && (!is_version || !(m->token_flags & METHOD_TIERED)))
		tier = m->token_flags & METHOD_TIERED ? "QuickJitted"
		       : is_debuggable(t, m)	      ? "MinOptJitted"
						      : "Optimized";
	if (tier && !t->r->failed) {
		perfmap_out_text(t->out, "[");
		perfmap_out_text(t->out, tier);
		perfmap_out_text(t->out, "]");
	}
	t->r->failed = failed;
	t->r->notes = notes;
}

int perfmap_put_body(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		     struct perfmap_modules_read *modules, const struct perfmap_code *code,
		     struct perfmap_out *out, bool *ret_fleeting)
{
	struct text t = {
		.r = r,
		.layout = &runtime->layout,
		.modules = modules,
		.out = out,
		.work = {.limit = PERFMAP_NAME_WORK_MAX},
		.types_left = PERFMAP_SIGNATURE_TYPES_MAX,
	};
	struct method m = read_method(&t, code->method);
	bool is_dynamic = (m.flags & METHOD_KIND) == METHOD_KIND_DYNAMIC;
	int err = is_dynamic ? put_dynamic(&t, &m) : put_metadata_method(&t, &m);

	if (!err)
		put_tier(&t, &m, code);
	if (r->failed)
		return -EFAULT;
	if (out->cut || perfmap_work_exceeded(&t.work) || !t.types_left)
		return -E2BIG;
	if (err)
		return err;
	/* Of an instance over what can be unloaded its memory tells, not its type. */
	*ret_fleeting =
		code->is_collectible ||
		(!perfmap_layout_has(t.layout, PERFMAP_SECTION_FLAGS) &&
		 u32_of(&t, m.type, PERFMAP_TYPE_FLAGS) & TYPE_COLLECTIBLE) ||
		(is_dynamic && u32_of(&t, m.address, PERFMAP_DYNAMIC_FLAGS) & DYNAMIC_IS_METHOD);
	return r->failed ? -EFAULT : 0;
}
