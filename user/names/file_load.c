/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/file_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "names/symbol.h"
#include "parse/elf_blob.h"
#include "parse/parse.h"

/* What is to be done next, and what runs. */
enum step {
	STEP_OPEN,
	STEP_READ,
	STEP_OPEN_DEBUG,
	STEP_READ_DEBUG,
	STEP_OPEN_PACKED,
	STEP_READ_PACKED,
};

struct file_load *file_load_new(const struct model *m, const struct file_key *key,
				const struct model_mapping *mapping)
{
	const struct model_module *module = &m->modules[key->module];
	struct file_load *load = calloc(1, sizeof(*load));
	struct mapped_request *request = load ? &load->mapped : NULL;

	if (!load || snprintf(request->path, sizeof(request->path), "%s", module->path) >=
			     (int)sizeof(request->path)) {
		free(load);
		errno = ENOMEM;
		return NULL;
	}
	load->key = *key;
	load->part_fd = -1;
	memcpy(request->build_id, module->build_id, sizeof(request->build_id));
	request->build_id_len = module->build_id_len;
	request->inode = module->inode;
	request->start = mapping->start;
	request->end = mapping->end;
	load->file_offset = mapping->file_offset;
	request->is_image = symbol_is_image(module->path);
	if (request->is_image) {
		request->version_len = request->build_id_len;
		request->build_id_len = 0;
	}
	return load;
}

void file_load_free(const struct sources *src, struct file_load *load)
{
	if (!load)
		return;
	workers_job_free(src->requests->workers, load->job);
	elf_free(load->elf);
	bundle_table_free(load->bundle);
	image_table_free(load->image);
	unwind_table_free(load->unwind);
	cleanup_close(&load->part_fd);
	free(load->components);
	free(load);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* As sources_open(), with what the reply says; REASON_PENDING where it was put off. */
static enum model_reason ask(const struct sources *src, const struct model *m,
			     struct file_load *load, struct file_reply *reply, int *ret_fd)
{
	uint64_t deferred = src->requests->deferred;
	enum model_reason reason =
		sources_open(src, m, load->key.process, &load->request, reply, ret_fd);

	if (reason)
		return src->requests->deferred != deferred ? REASON_PENDING : reason;
	return (enum model_reason)reply->reason;
}

static enum model_reason ask_mapped(const struct sources *src, const struct model *m,
				    struct file_load *load, const struct mapped_request *mapped,
				    struct file_reply *reply, int *ret_fd)
{
	load->request.kind = FILE_REQUEST_MAPPED;
	load->request.mapped = *mapped;
	return ask(src, m, load, reply, ret_fd);
}

enum model_reason file_load_identify(const struct sources *src, const struct model *m,
				     struct file_load *load)
{
	enum model_reason reason;
	struct file_reply reply;
	int fd;

	load->mapped.identity_only = true;
	reason = ask_mapped(src, m, load, &load->mapped, &reply, &fd);
	load->mapped.identity_only = false;
	if (!reason) {
		load->identity = reply.mapped.identity;
		load->stage = reply.mapped.stage;
	}
	return reason;
}

/* A job with its first descriptor, which it takes. */
static enum model_reason begin(const struct sources *src, const struct model *m,
			       struct file_load *load, struct parse_request *parse,
			       const struct file_reply *reply, int fd, int second_fd)
{
	parse->in_socket |= reply->in_socket;
	load->job = file_requests_job_new(src->requests, m, load->key.process, parse);
	if (!load->job) {
		close(fd);
		cleanup_close(&second_fd);
		return REASON_LIMIT;
	}
	workers_job_give(load->job, fd);
	if (second_fd >= 0)
		workers_job_give(load->job, second_fd);
	return REASON_NAMED;
}

/* Opens the files of assemblies beside the image's own. */
static enum model_reason open_components(const struct sources *src, const struct model *m,
					 struct file_load *load, struct parse_request *parse,
					 int fds[IMAGE_COMPONENTS_MAX])
{
	_cleanup_free_ struct mapped_request *mapped = malloc(sizeof(*mapped));
	struct parse_image *image = &parse->image;

	for (uint32_t i = 0; mapped && i < load->components_cnt; i++) {
		const struct file_component *c = &load->components[i];
		uint32_t at = image->component_cnt;
		struct file_reply reply = {0};
		enum model_reason reason;
		int fd = -1;

		*mapped = load->mapped;
		memcpy(mapped->path, c->path, sizeof(mapped->path));
		mapped->is_image = !c->bytes;
		if (!c->bytes)
			mapped->inode = mapped->start = mapped->end = 0;
		/* One that is not there is given as an empty file, so that it is not asked for
		 * again. */
		reason = ask_mapped(src, m, load, mapped, &reply, &fd);
		if (reason == REASON_PENDING) {
			while (at-- > 0)
				close(fds[at]);
			return reason;
		}
		if (reason)
			fd = memfd_create("hotrun-none", MFD_CLOEXEC);
		if (fd < 0)
			continue;
		image->components[at] = c->component;
		image->component_inside[at] = c->inside;
		image->component_bytes[at] = c->bytes;
		parse->in_socket |= (uint32_t)reply.in_socket << (at + 1);
		fds[at] = fd;
		image->component_cnt++;
	}
	return REASON_NAMED;
}

static enum model_reason begin_image(const struct sources *src, const struct model *m,
				     struct file_load *load, struct parse_request *parse,
				     const struct file_reply *reply, int fd)
{
	int fds[IMAGE_COMPONENTS_MAX];
	enum model_reason reason;

	parse->image.inside = load->key.inside;
	parse->image.bytes = load->inside_bytes;
	if (load->key.kind == FILE_COMPONENT) {
		reason = open_components(src, m, load, parse, fds);
		if (reason) {
			close(fd);
			return reason;
		}
		if (load->wanted) {
			parse->image.wanted[0] = load->wanted;
			parse->image.wanted_cnt = 1;
		}
		if (!parse->image.component_cnt) {
			close(fd);
			return REASON_PRECOMPILED;
		}
	}
	reason = begin(src, m, load, parse, reply, fd, -1);
	for (uint32_t i = 0; i < parse->image.component_cnt; i++) {
		if (reason)
			close(fds[i]);
		else
			workers_job_give(load->job, fds[i]);
	}
	return reason;
}

static enum model_reason open_file(const struct sources *src, const struct model *m,
				   struct file_load *load)
{
	static struct parse_request parse; /* large; one thread */
	struct file_reply reply;
	enum model_reason reason;
	int fd;

	reason = ask_mapped(src, m, load, &load->mapped, &reply, &fd);
	if (reason)
		return reason;
	memset(&parse, 0, sizeof(parse));
	load->identity = reply.mapped.identity;
	load->stage = reply.mapped.stage;
	switch (load->key.kind) {
	case FILE_ELF:
		parse.kind = PARSE_ELF;
		break;
	case FILE_BUNDLE:
		parse.kind = PARSE_BUNDLE;
		break;
	case FILE_UNWIND:
		if (load->mapped.is_image || load->key.inside) {
			parse.kind = PARSE_UNWIND_IMAGE;
			return begin_image(src, m, load, &parse, &reply, fd);
		}
		parse.kind = PARSE_UNWIND_ELF;
		break;
	case FILE_IMAGE:
	case FILE_COMPONENT:
		parse.kind = PARSE_IMAGE;
		return begin_image(src, m, load, &parse, &reply, fd);
	}
	return begin(src, m, load, &parse, &reply, fd, -1);
}

/* What a debug file is recognised by. */
static void set_more(const struct elf_table *t, struct parse_request *parse)
{
	parse->elf.identity = t->identity;
	memcpy(parse->elf.debuglink, t->debuglink, sizeof(parse->elf.debuglink));
	parse->elf.debuglink_crc = t->debuglink_crc;
	parse->elf.debugdata_offset = t->debugdata_offset;
	parse->elf.debugdata_bytes = t->debugdata_bytes;
}

/* A build id of one byte is no name of a file. */
static bool may_be_there(const struct debug_request *request)
{
	return file_request_is_by_build_id(request->place) ? request->build_id_len > 1
							   : request->debuglink[0] != '\0';
}

/* Opens the next debug file that may be there. REASON_NO_SYMBOL: there is none left. */
static enum model_reason open_debug(const struct sources *src, const struct model *m,
				    struct file_load *load)
{
	struct parse_request parse = {.kind = PARSE_DEBUG};
	struct debug_request *request = &load->request.debug;
	struct file_reply reply;
	int fd;

	load->request.kind = FILE_REQUEST_DEBUG;
	memcpy(request->path, load->mapped.path, sizeof(request->path));
	memcpy(request->build_id, load->elf->identity.build_id, sizeof(request->build_id));
	request->build_id_len = load->elf->identity.build_id_len;
	memcpy(request->debuglink, load->elf->debuglink, sizeof(request->debuglink));
	for (; load->debug_place < FILE_DEBUG_PLACES; load->debug_place++) {
		enum model_reason reason;

		request->place = load->debug_place;
		if (!may_be_there(request))
			continue;
		reason = ask(src, m, load, &reply, &fd);
		if (reason == REASON_PENDING)
			return reason;
		if (reason)
			continue;
		load->debug_place++;
		set_more(load->elf, &parse);
		return begin(src, m, load, &parse, &reply, fd, -1);
	}
	return REASON_NO_SYMBOL;
}

/* The file again, for what is packed into it. */
static enum model_reason open_packed(const struct sources *src, const struct model *m,
				     struct file_load *load)
{
	struct parse_request parse = {.kind = PARSE_PACKED};
	struct file_reply reply;
	enum model_reason reason;
	int fd, scratch_fd;

	if (!load->elf->debugdata_bytes)
		return REASON_NO_SYMBOL;
	load->mapped.stage = load->stage;
	reason = ask_mapped(src, m, load, &load->mapped, &reply, &fd);
	if (reason)
		return reason;
	scratch_fd = memfd_create("hotrun-scratch", MFD_CLOEXEC);
	if (scratch_fd < 0) {
		close(fd);
		return REASON_LIMIT;
	}
	set_more(load->elf, &parse);
	return begin(src, m, load, &parse, &reply, fd, scratch_fd);
}

/* --- what was read ---------------------------------------------------------------------------- */

static struct elf_table *take_elf(struct workers_job *job)
{
	size_t bytes;
	int fd = workers_job_take_result(job, &bytes);

	return fd < 0 ? NULL : elf_blob_read(fd, bytes);
}

/* The file is not the one that is mapped: looks further, where there is somewhere. */
static enum model_reason look_further(struct file_load *load)
{
	elf_free(load->elf);
	load->elf = NULL;
	unwind_table_free(load->unwind);
	load->unwind = NULL;
	if (load->stage >= FILE_ON_HOST)
		return REASON_FILE_CHANGED;
	load->mapped.stage = load->stage + 1;
	load->step = STEP_OPEN;
	return REASON_NAMED;
}

/* Takes over the build id that was read. Whether the file is the one that is mapped. */
static bool is_mapped_one(struct file_load *load, const struct elf_identity *read)
{
	const struct mapped_request *request = &load->mapped;
	struct elf_identity *id = &load->identity;

	id->build_id_len = read->build_id_len;
	memcpy(id->build_id, read->build_id, sizeof(id->build_id));
	return !request->build_id_len ||
	       (id->build_id_len == request->build_id_len &&
		!memcmp(id->build_id, request->build_id, request->build_id_len));
}

static enum model_reason take_file_elf(struct file_load *load)
{
	struct elf_table *t = take_elf(load->job);
	bool is_it;

	if (!t)
		return REASON_FILE_MALFORMED;
	load->elf = t;
	is_it = is_mapped_one(load, &t->identity);
	t->identity = load->identity;
	if (!is_it)
		return look_further(load);
	elf_place_code(t, load->mapped.start, load->mapped.end, load->file_offset);
	load->step = t->has_symtab ? STEP_READ : STEP_OPEN_DEBUG;
	return REASON_NAMED;
}

static enum model_reason take_unwind(struct file_load *load, int fd, size_t bytes)
{
	bool is_elf = !load->mapped.is_image && !load->key.inside;

	load->unwind = unwind_table_read(fd, bytes);
	if (!load->unwind)
		return REASON_FILE_MALFORMED;
	return is_elf && !is_mapped_one(load, &load->unwind->layout.identity) ? look_further(load)
									      : REASON_NAMED;
}

static enum model_reason take_file(const struct model *m, struct file_load *load)
{
	size_t bytes;
	int fd;

	if (load->key.kind == FILE_ELF)
		return take_file_elf(load);
	fd = workers_job_take_result(load->job, &bytes);
	if (fd < 0)
		return REASON_FILE_MALFORMED;
	if (load->key.kind == FILE_COMPONENT) {
		load->part_fd = fd;
		load->part_bytes = bytes;
		return REASON_NAMED;
	}
	if (load->key.kind == FILE_UNWIND)
		return take_unwind(load, fd, bytes);
	if (load->key.kind == FILE_BUNDLE) {
		load->bundle = bundle_table_read(fd, bytes);
		return load->bundle ? REASON_NAMED : REASON_FILE_MALFORMED;
	}
	load->image = image_table_read(fd, bytes);
	if (!load->image)
		return REASON_FILE_MALFORMED;
	if (!load->key.inside && !symbol_is_version(&m->modules[load->key.module], load->image))
		return REASON_FILE_CHANGED;
	return REASON_NAMED;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Waits for the job; then its reason, and it is not there any more. */
static enum model_reason finish(const struct sources *src, const struct model *m,
				struct file_load *load,
				enum model_reason (*take)(const struct model *m,
							  struct file_load *load))
{
	const struct parse_reply *reply;
	enum model_reason reason = file_requests_job_wait(
		src->requests, load->job, file_requests_party(src->requests, m, load->key.process),
		&reply);
	uint64_t since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (reason == REASON_PENDING)
		return reason;
	if (!reason)
		reason = take(m, load);
	file_requests_charge(src->requests, m, load->key.process, since_ns);
	load->cpu_ns += workers_job_cpu_ns(load->job);
	file_requests_job_end(src->requests, load->key.process, load->job);
	load->job = NULL;
	return reason;
}

static enum model_reason take_more(const struct model *m, struct file_load *load)
{
	(void)m;
	load->elf->debug = take_elf(load->job);
	return load->elf->debug ? REASON_NAMED : REASON_FILE_MALFORMED;
}

/* Opens what comes next and has it read. */
static enum model_reason open_next(const struct sources *src, const struct model *m,
				   struct file_load *load)
{
	enum model_reason reason;

	switch (load->step) {
	case STEP_OPEN:
		reason = open_file(src, m, load);
		break;
	case STEP_OPEN_DEBUG:
		reason = open_debug(src, m, load);
		break;
	default:
		reason = open_packed(src, m, load);
		break;
	}
	if (!reason) {
		load->step++;
		/* Stacks break until that is there; names can wait, and images, whose code mostly
		 * keeps frame pointers. */
		file_requests_job_begin(src->requests, load->job,
					load->key.kind == FILE_UNWIND && !load->mapped.is_image &&
							!load->key.inside
						? WORKERS_URGENT
						: WORKERS_USUAL);
	}
	return reason;
}

/* One step of the symbols that are kept elsewhere: what fails there leaves the table as it is. */
static enum model_reason step_more(const struct sources *src, const struct model *m,
				   struct file_load *load)
{
	bool is_packed = load->step >= STEP_OPEN_PACKED;
	enum model_reason reason;

	if (load->step == STEP_OPEN_DEBUG || load->step == STEP_OPEN_PACKED)
		reason = open_next(src, m, load);
	else
		reason = finish(src, m, load, take_more);
	if (reason == REASON_PENDING || load->job)
		return reason;
	if (!reason || is_packed) {
		load->elf->has_symtab |= !reason && !is_packed;
		load->step = STEP_READ; /* nothing is left to do */
	} else if (load->step == STEP_READ_DEBUG) {
		load->step = STEP_OPEN_DEBUG;
	} else {
		load->step = STEP_OPEN_PACKED;
	}
	return REASON_NAMED;
}

enum model_reason file_load_step(const struct sources *src, const struct model *m,
				 struct file_load *load)
{
	for (;;) {
		enum model_reason reason;

		if (load->step == STEP_OPEN)
			reason = open_next(src, m, load);
		else if (load->step == STEP_READ && load->job)
			reason = finish(src, m, load, take_file);
		else if (load->step == STEP_READ)
			return REASON_NAMED;
		else
			reason = step_more(src, m, load);
		if (reason)
			return reason;
	}
}
