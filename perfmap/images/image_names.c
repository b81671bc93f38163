/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/image_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/images/native_format.h"
#include "perfmap/images/ready_header.h"
#include "perfmap/images/signature.h"

#define COMPONENT_BYTES 16u /* two directories: CLI header, core header */
#define HOT_COLD_BYTES	8u  /* two functions: cold, hot */

#define ENTRY_POINT_STEPS 4u /* work of finding one in its table: bits of its number */

/* What a function is: a method by its number over all components, or a place in instances. */
#define REF_NONE     0u
#define REF_INSTANCE 0x80000000u

struct perfmap_image_names {
	struct perfmap_metadata *components; /* one; more in a composite image */
	uint32_t components_cnt;
	uint32_t *methods_before; /* of each component: methods of those before it */
	bool *refused;		  /* of each component: its metadata cannot be had */
	uint8_t *mvids;		  /* of the components of a composite image; NULL = not told */
	struct perfmap_metadata manifest;
	size_t metadata_bytes; /* of all components */
	bool has_manifest;
	bool composite;
	uint8_t *instance_bytes; /* owned */
	struct perfmap_bytes instances;
	bool incomplete; /* an entry point could not be read: it may be of any function */
	uint32_t *refs;	 /* by function */
	uint32_t functions;
};

struct perfmap_component {
	struct perfmap_metadata md;
};

struct loader {
	const struct perfmap_pe *pe;
	const struct perfmap_reader *r;
	struct perfmap_image_names *names;
};

/* --- functions to methods --------------------------------------------------------------------- */

/* Number of a function, at the start of an entry point: flags in its low bits tell of fix-ups. */
static bool read_function(struct perfmap_bytes b, size_t at, uint32_t *ret_function)
{
	uint32_t value;

	if (!perfmap_native_uint(b, &at, &value))
		return false;
	*ret_function = value & 1 ? value >> 2 : value >> 1;
	return true;
}

/* Methods are counted on from before; ret_cnt: how many the table speaks of. */
static int note_methods(struct loader *l, struct perfmap_directory directory, uint32_t before,
			uint32_t *ret_cnt)
{
	struct perfmap_image_names *names = l->names;
	struct perfmap_native_array array = {0};
	uint8_t *bytes;
	uint32_t function;
	size_t at;
	int err;

	*ret_cnt = 0;
	if (!directory.bytes)
		return 0;
	err = perfmap_pe_read_owned(l->pe, l->r, directory, PERFMAP_ENTRY_POINTS_BYTES, &bytes);
	if (err)
		return err;
	if (!perfmap_native_array_open((struct perfmap_bytes){bytes, directory.bytes}, &array))
		err = -EBADMSG;
	else if (array.cnt > PERFMAP_METHODS_MAX - before)
		err = -E2BIG;
	for (uint32_t i = 0; !err && i < array.cnt; i++) {
		if (!perfmap_work_add(l->r->work, ENTRY_POINT_STEPS)) {
			err = -E2BIG;
			break;
		}
		if (!perfmap_native_array_get(&array, i, &at))
			continue;
		if (read_function(array.bytes, at, &function) && function < names->functions)
			names->refs[function] = before + i + 1;
		else
			names->incomplete = true;
	}
	free(bytes);
	*ret_cnt = array.cnt;
	return err;
}

static int note_instances(struct loader *l, struct perfmap_directory directory)
{
	struct perfmap_image_names *names = l->names;
	struct perfmap_method_signature signature;
	struct perfmap_native_table table;
	uint32_t function, cnt = 0;
	size_t at;
	int err;

	if (!directory.bytes)
		return 0;
	err = perfmap_pe_read_owned(l->pe, l->r, directory, PERFMAP_ENTRY_POINTS_BYTES,
				    &names->instance_bytes);
	if (err)
		return err;
	names->instances = (struct perfmap_bytes){names->instance_bytes, directory.bytes};
	if (!perfmap_native_table_open(names->instances, &table))
		return -EBADMSG;
	while (perfmap_native_table_next(&table, &at)) {
		if (cnt++ == names->functions || !perfmap_work_add(l->r->work, ENTRY_POINT_STEPS))
			return -E2BIG;
		if (perfmap_signature_parse(names->instances, at, l->r->work, &signature) &&
		    read_function(names->instances, signature.end, &function) &&
		    function < names->functions)
			names->refs[function] = REF_INSTANCE | (uint32_t)at;
		else
			names->incomplete = true;
	}
	if (perfmap_work_exceeded(l->r->work))
		return -E2BIG;
	return table.malformed ? -EBADMSG : 0;
}

/* Cold parts of methods lie behind all others: each has its name from its hot part. */
static int note_cold(struct loader *l, struct perfmap_directory directory)
{
	struct perfmap_image_names *names = l->names;
	uint8_t *bytes;
	int err;

	if (directory.bytes < HOT_COLD_BYTES)
		return 0;
	err = perfmap_pe_read_owned(l->pe, l->r, directory, PERFMAP_ENTRY_POINTS_BYTES, &bytes);
	if (err)
		return err;
	for (uint32_t i = 0; i < directory.bytes / HOT_COLD_BYTES; i++) {
		uint32_t cold = perfmap_u32_at(bytes + i * HOT_COLD_BYTES);
		uint32_t hot = perfmap_u32_at(bytes + i * HOT_COLD_BYTES + 4);

		if (cold < names->functions && hot < names->functions)
			names->refs[cold] = names->refs[hot];
	}
	free(bytes);
	return 0;
}

/* Handlers (EH funclets) follow their method and have no entry point of their own. So does a method
 * whose entry point could not be read: then none is guessed. */
static void name_handlers(struct perfmap_image_names *names)
{
	if (names->incomplete)
		return;
	for (uint32_t i = 1; i < names->functions; i++)
		if (names->refs[i] == REF_NONE)
			names->refs[i] = names->refs[i - 1];
}

/* --- components ------------------------------------------------------------------------------- */

/* Metadata of a composite image's assemblies usually lies in files beside it. */
static int add_component(struct loader *l, uint32_t row, struct perfmap_directory metadata,
			 struct perfmap_directory methods, uint32_t *before)
{
	struct perfmap_image_names *names = l->names;
	uint32_t cnt;
	int err = perfmap_metadata_load(l->pe, l->r, metadata, &names->components[row]);

	if (err && err != -ENODATA)
		return err;
	names->metadata_bytes += names->components[row].memory_bytes;
	if (names->metadata_bytes > PERFMAP_NAMES_BYTES_MAX)
		return -E2BIG;
	names->methods_before[row] = *before;
	err = note_methods(l, methods, *before, &cnt);
	*before += cnt;
	return err;
}

static int add_composite(struct loader *l, const uint8_t *rows)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < l->names->components_cnt; i++) {
		const uint8_t *row = rows + i * COMPONENT_BYTES;
		struct perfmap_directory core = perfmap_directory_at(row + 8);
		struct perfmap_directory metadata = {0}, native;
		struct perfmap_ready_sections sections = {0};
		int err = perfmap_cli_header(l->pe, l->r, perfmap_directory_at(row), &metadata,
					     &native);

		if (err == -ENODATA)
			err = 0;
		if (!err && core.bytes)
			err = perfmap_ready_core(l->pe, l->r, core.rva, &sections);
		if (!err)
			err = add_component(l, i, metadata, sections.methods, &before);
		if (err)
			return err;
	}
	return 0;
}

static int make_components(struct perfmap_image_names *names, uint32_t cnt)
{
	if (!cnt)
		return -EBADMSG;
	if (cnt > PERFMAP_COMPONENTS_MAX)
		return -E2BIG;
	names->components = calloc(cnt, sizeof(*names->components));
	names->methods_before = calloc(cnt, sizeof(*names->methods_before));
	names->refused = calloc(cnt, sizeof(*names->refused));
	if (!names->components || !names->methods_before || !names->refused)
		return -ENOMEM;
	names->components_cnt = cnt;
	return 0;
}

static int load_components(struct loader *l, const struct perfmap_ready_sections *s,
			   struct perfmap_directory metadata)
{
	uint32_t cnt = l->names->composite ? s->components.bytes / COMPONENT_BYTES : 1;
	int err = make_components(l->names, cnt);
	uint32_t before = 0;
	uint8_t *rows;

	if (err)
		return err;
	if (!l->names->composite)
		return add_component(l, 0, metadata, s->methods, &before);
	err = perfmap_pe_read_owned(l->pe, l->r, s->components,
				    PERFMAP_COMPONENTS_MAX * COMPONENT_BYTES, &rows);
	if (err)
		return err;
	err = add_composite(l, rows);
	free(rows);
	if (!err && s->mvids.bytes / PERFMAP_MVID_BYTES >= cnt)
		err = perfmap_pe_read_owned(l->pe, l->r, s->mvids,
					    PERFMAP_COMPONENTS_MAX * PERFMAP_MVID_BYTES,
					    &l->names->mvids);
	return err;
}

static int load(struct loader *l)
{
	struct perfmap_image_names *names = l->names;
	struct perfmap_directory metadata;
	struct perfmap_ready_sections s;
	int err = perfmap_ready_header(l->pe, l->r, &s, &metadata);

	if (err)
		return err;
	/* Entry points count its rows: it must be the table that functions were read from. */
	if (s.runtime_functions.rva != l->pe->exceptions.rva)
		return -EBADMSG;
	names->composite = s.components.bytes > 0;
	names->refs = calloc(names->functions, sizeof(*names->refs));
	if (!names->refs)
		return -ENOMEM;
	err = load_components(l, &s, metadata);
	if (!err && s.manifest.bytes) {
		err = perfmap_metadata_load(l->pe, l->r, s.manifest, &names->manifest);
		names->has_manifest = !err;
	}
	if (!err)
		err = note_instances(l, s.instances);
	if (!err)
		err = note_cold(l, s.hot_cold);
	name_handlers(names);
	return err;
}

int perfmap_image_names_load(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			     uint32_t functions, struct perfmap_image_names **ret_names)
{
	struct loader l = {.pe = pe, .r = r};
	int err;

	l.names = calloc(1, sizeof(*l.names));
	if (!l.names)
		return -ENOMEM;
	l.names->functions = functions;
	err = load(&l);
	if (err) {
		perfmap_image_names_free(l.names);
		return err;
	}
	*ret_names = l.names;
	return 0;
}

void perfmap_image_names_free(struct perfmap_image_names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->components_cnt; i++)
		perfmap_metadata_clear(&names->components[i]);
	perfmap_metadata_clear(&names->manifest);
	free(names->components);
	free(names->methods_before);
	free(names->refused);
	free(names->mvids);
	free(names->instance_bytes);
	free(names->refs);
	free(names);
}

/* --- look-ups --------------------------------------------------------------------------------- */

#define NO_COMPONENT UINT32_MAX

static struct perfmap_modules modules_of(const struct perfmap_image_names *names,
					 struct perfmap_work *work, uint32_t *ret_missing)
{
	*ret_missing = NO_COMPONENT;
	return (struct perfmap_modules){
		.components = names->components,
		.components_cnt = names->components_cnt,
		.manifest = names->has_manifest ? &names->manifest : NULL,
		.composite = names->composite,
		.missing = ret_missing,
		.work = work,
	};
}

static bool put_method(const struct perfmap_image_names *names, uint32_t method,
		       struct perfmap_work *work, struct perfmap_out *out, uint32_t *ret_missing)
{
	struct perfmap_modules modules = modules_of(names, work, ret_missing);
	uint32_t low = 0, high = names->components_cnt;

	/* The last component with fewer methods before it. */
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (names->methods_before[mid] < method)
			low = mid;
		else
			high = mid;
	}
	if (!perfmap_metadata_rows(&names->components[low], PERFMAP_MODULE)) {
		*ret_missing = low;
		return false;
	}
	return perfmap_put_method_def(&modules, &names->components[low],
				      method - names->methods_before[low], out);
}

static bool put_instance(const struct perfmap_image_names *names, uint32_t at,
			 struct perfmap_work *work, struct perfmap_out *out, uint32_t *ret_missing)
{
	struct perfmap_modules modules = modules_of(names, work, ret_missing);
	struct perfmap_method_signature signature;

	return perfmap_signature_parse(names->instances, at, work, &signature) &&
	       perfmap_put_instance(&modules, names->instances, &signature, out);
}

int perfmap_image_names_put(const struct perfmap_image_names *names, uint32_t function, char *buf,
			    size_t cap, struct perfmap_work *work, size_t *ret_len,
			    uint32_t *ret_component)
{
	struct perfmap_out out = {.buf = buf, .cap = cap};
	uint32_t ref = function < names->functions ? names->refs[function] : REF_NONE, missing;
	bool found;

	if (ref == REF_NONE)
		return -ENOENT;
	found = ref & REF_INSTANCE ? put_instance(names, ref & ~REF_INSTANCE, work, &out, &missing)
				   : put_method(names, ref, work, &out, &missing);
	if (out.cut || perfmap_work_exceeded(work))
		return -E2BIG;
	if (!found && missing != NO_COMPONENT && !names->refused[missing]) {
		*ret_component = missing;
		return -EAGAIN;
	}
	if (!found)
		return -ENODATA;
	perfmap_out_put(&out, "[PreJIT]", 8);
	if (out.cut)
		return -E2BIG;
	perfmap_out_end(&out);
	*ret_len = out.len;
	return 0;
}

/* --- components of other files ---------------------------------------------------------------- */

int perfmap_image_names_component(const struct perfmap_image_names *names, uint32_t component,
				  char *buf, size_t cap)
{
	struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};
	struct perfmap_span name = {"", 0};

	if (names->has_manifest)
		name = perfmap_assembly_ref_name(&names->manifest, &work, component + 1);
	/* A file name, made by a hostile file. */
	if (!name.len || name.len >= cap || memchr(name.s, '/', name.len))
		return -ENOENT;
	memcpy(buf, name.s, name.len);
	buf[name.len] = 0;
	return 0;
}

int perfmap_image_names_give(struct perfmap_image_names *names, uint32_t component,
			     struct perfmap_component *given)
{
	if (component >= names->components_cnt ||
	    perfmap_metadata_rows(&names->components[component], PERFMAP_MODULE)) {
		perfmap_component_free(given);
		return -EINVAL;
	}
	names->refused[component] = true;
	if (!given)
		return 0;
	if (given->md.memory_bytes > PERFMAP_NAMES_BYTES_MAX - names->metadata_bytes) {
		perfmap_component_free(given);
		return -E2BIG;
	}
	if (!perfmap_metadata_rows(&given->md, PERFMAP_MODULE) ||
	    (names->mvids && memcmp(names->mvids + component * PERFMAP_MVID_BYTES, given->md.mvid,
				    PERFMAP_MVID_BYTES))) {
		perfmap_component_free(given);
		return -ESTALE;
	}
	names->components[component] = given->md;
	names->metadata_bytes += given->md.memory_bytes;
	free(given);
	return 0;
}

int perfmap_component_load(perfmap_image_read read, void *source,
			   struct perfmap_component **ret_component)
{
	struct perfmap_work work = {0};
	struct perfmap_reader r = {.read = read, .source = source, .work = &work};
	struct perfmap_component *component = calloc(1, sizeof(*component));
	struct perfmap_directory metadata, native;
	struct perfmap_pe pe;
	int err;

	if (!component)
		return -ENOMEM;
	err = perfmap_pe_load(&r, &pe);
	if (!err)
		err = perfmap_cli_header(&pe, &r, pe.cli, &metadata, &native);
	if (!err)
		err = perfmap_metadata_load(&pe, &r, metadata, &component->md);
	if (err) {
		perfmap_component_free(component);
		return err;
	}
	*ret_component = component;
	return 0;
}

void perfmap_component_free(struct perfmap_component *component)
{
	if (!component)
		return;
	perfmap_metadata_clear(&component->md);
	free(component);
}

const uint8_t *perfmap_image_names_mvid(const struct perfmap_image_names *names)
{
	const struct perfmap_metadata *own = &names->components[0];

	return !names->composite && perfmap_metadata_rows(own, PERFMAP_MODULE) ? own->mvid : NULL;
}

size_t perfmap_image_names_memory_bytes(const struct perfmap_image_names *names)
{
	size_t bytes = sizeof(*names) + names->functions * sizeof(*names->refs) +
		       names->instances.len + names->manifest.memory_bytes + names->metadata_bytes;

	return bytes + names->components_cnt *
			       (sizeof(*names->components) + sizeof(*names->methods_before) +
				sizeof(*names->refused) + (names->mvids ? PERFMAP_MVID_BYTES : 0));
}
