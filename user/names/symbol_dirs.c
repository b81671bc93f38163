/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/symbol_dirs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "names/symbol.h"
#include "opener/symbol_look.h"
#include "parse/parse_fact.h"
#include "perfmap/images/image.h"
#include "process/entry.h"

struct symbol_dirs *symbol_dirs_new(void)
{
	struct symbol_dirs *d = calloc(1, sizeof(*d));
	int err =
		d ? file_requests_init(&d->requests, NULL, "/proc", SYMBOL_DIRS_OPEN_NS) : -ENOMEM;

	if (!err)
		return d;
	symbol_dirs_free(d);
	errno = -err;
	return NULL;
}

void symbol_dirs_free(struct symbol_dirs *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->folders_cnt; i++)
		free(d->folders[i].path);
	for (size_t i = 0; i < d->files_cnt; i++)
		free(d->files[i].path);
	free(d->files);
	file_requests_clear(&d->requests);
	free(d);
}

static void set_folder(const struct symbol_dirs *d, uint32_t folder,
		       char ret_path[static FILE_PATH_BYTES])
{
	snprintf(ret_path, FILE_PATH_BYTES, "%s", d->folders[folder].path);
}

/* Asks the helper for something in a folder, which stands for a process there. A reason of the
 * requests. */
static enum model_reason ask(struct symbol_dirs *d, uint32_t folder, struct file_request *request,
			     struct file_reply *ret_reply, int *ret_fd)
{
	const struct target_process target = {.exited = true}; /* no process is asked */

	*ret_reply = (struct file_reply){0};
	file_requests_slice(&d->requests);
	return file_requests_open_of(&d->requests, folder, &target, request, -1, ret_reply, ret_fd);
}

/* --- looking through -------------------------------------------------------------------------- */

/* "perf-123.map" */
static bool is_map(const char *name, uint32_t *ret_pid)
{
	size_t len = strlen(name);
	char digits[16];
	uint64_t pid;

	if (len < 10 || len > 9 + 10 || strncmp(name, "perf-", 5) || strcmp(name + len - 4, ".map"))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)(len - 9), name + 5);
	if (text_parse_u64(digits, 1, UINT32_MAX, &pid))
		return false;
	*ret_pid = (uint32_t)pid;
	return true;
}

static void add_file(struct symbol_dirs *d, struct symbol_file *file, const char *path)
{
	if (d->files_cnt >= SYMBOL_FILES_MAX || GROW(d->files, d->files_cnt, d->files_cap)) {
		d->cut = true;
		return;
	}
	file->folder = d->folders_cnt;
	file->path = strdup(path);
	if (file->path)
		d->files[d->files_cnt++] = *file;
}

/* Some files of a folder, to be identified together. */
struct batch {
	const char *paths[PARSE_SYMBOLS_MAX];
	unsigned cnt;
	size_t bytes;
};

/* Has a worker look at them. A reason of the file requests, or why there is no answer. */
static enum model_reason look_at(struct symbol_dirs *d, uint32_t folder, const struct batch *b,
				 struct parse_symbols *ret_symbols)
{
	const struct file_requests_subject who = {
		.process = folder, .party = WORKERS_TRUSTED, .wait_ns = SYMBOL_DIRS_JOB_NS};
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct parse_request parse = {.kind = PARSE_SYMBOLS};
	struct file_reply reply;
	enum model_reason reason;
	size_t at = 0;
	int fd;

	memset(ret_symbols, 0, sizeof(*ret_symbols));
	if (!request)
		return REASON_LIMIT;
	request->kind = FILE_REQUEST_SYMBOLS;
	set_folder(d, folder, request->symbols.folder);
	for (unsigned i = 0; i < b->cnt; i++)
		at += (size_t)sprintf(request->symbols.files + at, "%s", b->paths[i]) + 1;
	reason = ask(d, folder, request, &reply, &fd);
	if (reason || fd < 0)
		return reason;
	return file_requests_find_in_many(&d->requests, &who, &parse, fd, b->cnt, ret_symbols);
}

static void take(struct symbol_dirs *d, const char *path, const struct parse_symbol *symbol)
{
	struct symbol_file file = {.kind = SYMBOL_FILE_ELF, .has_code = symbol->has_code};

	if (!symbol->is_elf)
		return;
	memcpy(file.build_id, symbol->build_id, sizeof(file.build_id));
	file.build_id_len = symbol->build_id_len;
	add_file(d, &file, path);
}

/* One that is too much for a worker does not take the others of its batch with it. */
static void look_at_each(struct symbol_dirs *d, const struct batch *b)
{
	for (unsigned i = 0; i < b->cnt && d->bad < SYMBOL_DIRS_BAD_MAX; i++) {
		const struct batch one = {.paths = {b->paths[i]}, .cnt = 1};
		struct parse_symbols symbols;
		enum model_reason reason = look_at(d, d->folders_cnt, &one, &symbols);

		if (reason)
			d->bad += reason == REASON_FILE_TIMEOUT ? SYMBOL_DIRS_HANGS : 1;
		else
			take(d, b->paths[i], &symbols.rows[0]);
	}
	d->cut |= d->bad >= SYMBOL_DIRS_BAD_MAX;
}

static void look_at_all(struct symbol_dirs *d, struct batch *b)
{
	enum model_reason reason = REASON_NAMED;
	struct parse_symbols symbols;

	if (d->bad >= SYMBOL_DIRS_BAD_MAX)
		d->cut |= b->cnt;
	else if (b->cnt)
		reason = look_at(d, d->folders_cnt, b, &symbols);
	if (reason)
		look_at_each(d, b);
	else if (d->bad < SYMBOL_DIRS_BAD_MAX)
		for (unsigned i = 0; i < b->cnt; i++)
			take(d, b->paths[i], &symbols.rows[i]);
	*b = (struct batch){0};
}

static void add_to(struct symbol_dirs *d, struct batch *b, const char *path)
{
	size_t bytes = strlen(path) + 1;

	/* An empty path ends them. */
	if (b->cnt == PARSE_SYMBOLS_MAX || b->bytes + bytes >= FILE_NAMES_BYTES)
		look_at_all(d, b);
	b->paths[b->cnt++] = path;
	b->bytes += bytes;
}

static void look_through(struct symbol_dirs *d, const char *list, size_t len)
{
	struct batch batch = {0};

	for (const char *path = list; path < list + len; path += strlen(path) + 1) {
		struct symbol_file file = {.kind = SYMBOL_FILE_IMAGE};

		if (is_map(entry_basename(path), &file.pid))
			file.kind = SYMBOL_FILE_MAP;
		else if (!symbol_is_image(path)) {
			add_to(d, &batch, path);
			continue;
		}
		add_file(d, &file, path);
	}
	look_at_all(d, &batch);
}

/* The helper's list of the folder, with a NUL behind it. Owned; NULL with errno. */
static char *read_list(int fd, size_t *ret_len)
{
	struct stat st;
	char *list;

	if (fstat(fd, &st) || st.st_size > SYMBOL_LIST_BYTES)
		return NULL;
	list = calloc(1, (size_t)st.st_size + 1);
	if (list && pread(fd, list, (size_t)st.st_size, 0) == (ssize_t)st.st_size) {
		*ret_len = (size_t)st.st_size;
		return list;
	}
	free(list);
	return NULL;
}

/* Helpers work elsewhere. */
static char *absolute(const char *name)
{
	_cleanup_free_ char *cwd = *name == '/' ? NULL : getcwd(NULL, 0);
	char *path;

	if (*name == '/')
		return strdup(name);
	return cwd && asprintf(&path, "%s/%s", cwd, name) >= 0 ? path : NULL;
}

static int list_folder(struct symbol_dirs *d)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	_cleanup_free_ char *list = NULL;
	_cleanup_close_ int fd = -1;
	struct file_reply reply;
	enum model_reason reason;
	size_t len = 0;

	if (!request)
		return -ENOMEM;
	request->kind = FILE_REQUEST_LIST;
	set_folder(d, d->folders_cnt, request->list.folder);
	reason = ask(d, d->folders_cnt, request, &reply, &fd);
	if (reason)
		return reason == REASON_LIMIT ? -EAGAIN : -ETIMEDOUT;
	if (reply.error)
		return reply.error;
	list = read_list(fd, &len);
	if (!list)
		return -ENOMEM;
	d->cut |= reply.list.cut;
	look_through(d, list, len);
	return 0;
}

int symbol_dirs_add(struct symbol_dirs *d, const char *name)
{
	char *path;
	int err;

	if (d->folders_cnt >= SYMBOL_DIRS_MAX)
		return -E2BIG;
	path = absolute(name);
	if (!path)
		return -ENOMEM;
	d->folders[d->folders_cnt].path = path;
	d->folders[d->folders_cnt].name = name;
	err = strlen(path) < FILE_PATH_BYTES ? list_folder(d) : -ENAMETOOLONG;
	if (err)
		free(path);
	else
		d->folders_cnt++;
	return err;
}

/* --- giving ----------------------------------------------------------------------------------- */

/* Asks for one file, or for what it is. False: it is not there. */
static bool give(struct symbol_dirs *d, struct symbol_file *file, struct file_request *request,
		 struct file_reply *ret_reply, int *ret_fd)
{
	struct file_reply reply;

	if (ask(d, file->folder, request, &reply, ret_fd) || reply.error)
		return false;
	*ret_reply = reply;
	file->given = true;
	return true;
}

static struct symbol_file *find_build_id(struct symbol_dirs *d, const uint8_t *build_id,
					 uint8_t len, bool want_code)
{
	struct symbol_file *other = NULL;

	for (size_t i = 0; len > 1 && i < d->files_cnt; i++) {
		struct symbol_file *f = &d->files[i];

		if (f->kind != SYMBOL_FILE_ELF || f->build_id_len != len ||
		    memcmp(f->build_id, build_id, len))
			continue;
		if (f->has_code == want_code)
			return f;
		other = f;
	}
	return other;
}

static void read_version(struct symbol_dirs *d, struct symbol_file *file)
{
	const struct batch one = {.paths = {file->path}, .cnt = 1};
	struct parse_symbols symbols;

	file->version_read = true;
	if (look_at(d, file->folder, &one, &symbols) || !symbols.rows[0].has_version)
		return;
	memcpy(file->version, symbols.rows[0].version, sizeof(file->version));
	file->has_version = true;
}

static bool is_version(struct symbol_dirs *d, struct symbol_file *file,
		       const struct mapped_request *request)
{
	if (!file->version_read)
		read_version(d, file);
	return file->has_version &&
	       !memcmp(file->version, request->build_id, sizeof(file->version));
}

/* By name; of those of one name, e.g. of several runtimes, the one with the version id. */
static struct symbol_file *find_image(struct symbol_dirs *d, const struct mapped_request *request)
{
	const char *name = entry_basename(request->path);

	for (size_t i = 0; i < d->files_cnt; i++) {
		struct symbol_file *f = &d->files[i];

		if (f->kind != SYMBOL_FILE_IMAGE || strcmp(entry_basename(f->path), name))
			continue;
		f->unproven = request->version_len != PERFMAP_IMAGE_MVID_BYTES;
		if (f->unproven || is_version(d, f, request))
			return f;
	}
	return NULL;
}

/* Of several of one pid nobody knows which one is meant. */
static struct symbol_file *find_map(struct symbol_dirs *d, uint32_t pid)
{
	struct symbol_file *found = NULL;

	for (size_t i = 0; pid && i < d->files_cnt; i++) {
		if (d->files[i].kind != SYMBOL_FILE_MAP || d->files[i].pid != pid)
			continue;
		if (found)
			return NULL;
		found = &d->files[i];
	}
	return found;
}

static bool give_file(struct symbol_dirs *d, struct symbol_file *file, bool identity_only,
		      struct file_reply *reply, int *ret_fd)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));

	if (!request)
		return false;
	request->kind = FILE_REQUEST_SYMBOLS;
	request->symbols.identity_only = identity_only;
	set_folder(d, file->folder, request->symbols.folder);
	/* An empty path ends them. */
	snprintf(request->symbols.files, sizeof(request->symbols.files) - 1, "%s", file->path);
	return give(d, file, request, reply, ret_fd);
}

static bool serve_mapped(struct symbol_dirs *d, const struct mapped_request *request,
			 struct file_reply *reply, int *ret_fd)
{
	struct symbol_file *file = request->is_image ? find_image(d, request)
						     : find_build_id(d, request->build_id,
								     request->build_id_len, true);

	return file && give_file(d, file, request->identity_only, reply, ret_fd);
}

static bool serve_debug(struct symbol_dirs *d, const struct debug_request *request,
			struct file_reply *reply, int *ret_fd)
{
	struct symbol_file *file =
		find_build_id(d, request->build_id, request->build_id_len, false);

	if (!file || (request->place && !memcmp(d->debug_id, file->build_id, sizeof(d->debug_id))))
		return false;
	memcpy(d->debug_id, file->build_id, sizeof(d->debug_id));
	return give_file(d, file, false, reply, ret_fd);
}

static bool serve_map(struct symbol_dirs *d, const struct map_use *use,
		      const struct symbol_pids *pids, struct file_reply *reply, int *ret_fd)
{
	_cleanup_free_ struct file_request *own = calloc(1, sizeof(*own));
	struct symbol_file *file = find_map(d, pids->tgid);

	if (!file)
		file = find_map(d, pids->ns_pid);
	if (!file || !own)
		return false;
	own->kind = FILE_REQUEST_SYMBOL_MAP;
	own->symbol_map.use = *use;
	set_folder(d, file->folder, own->symbol_map.folder);
	snprintf(own->symbol_map.file, sizeof(own->symbol_map.file), "%s", file->path);
	return give(d, file, own, reply, ret_fd);
}

bool symbol_dirs_serve(struct symbol_dirs *d, const struct file_request *request,
		       const struct symbol_pids *pids, struct file_reply *ret_reply, int *ret_fd)
{
	switch (request->kind) {
	case FILE_REQUEST_MAPPED:
		return serve_mapped(d, &request->mapped, ret_reply, ret_fd);
	case FILE_REQUEST_DEBUG:
		return serve_debug(d, &request->debug, ret_reply, ret_fd);
	case FILE_REQUEST_MAP:
		return serve_map(d, &request->map.use, pids, ret_reply, ret_fd);
	default:
		return false;
	}
}
