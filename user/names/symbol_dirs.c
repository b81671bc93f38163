/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/symbol_dirs.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "names/entry.h"
#include "names/symbol.h"
#include "perfmap/image.h"
#include "perfmap/map.h"

struct symbol_dirs *symbol_dirs_new(void)
{
	return calloc(1, sizeof(struct symbol_dirs));
}

void symbol_dirs_free(struct symbol_dirs *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->folders_cnt; i++)
		close(d->folders[i].fd);
	for (size_t i = 0; i < d->files_cnt; i++)
		free(d->files[i].path);
	free(d->files);
	free(d);
}

/* Opens a regular file below a folder; links are followed as long as they stay inside. -1: none. */
static int open_below(int folder_fd, const char *path, struct stat *ret_stat)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int path_fd = (int)syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));
	char self[32];

	if (path_fd < 0 || fstat(path_fd, ret_stat) || !S_ISREG(ret_stat->st_mode))
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	return open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* --- looking through --------------------------------------------------------------------------- */

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

/* Whether the code is in the file: debug files keep its headers alone. 64-bit files, the only ones
 * that stacks are walked in. */
static bool has_code(int fd)
{
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < header.e_phnum && i < ELF_SEGMENTS_MAX; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(header.e_phoff + i * sizeof(ph))) !=
		    sizeof(ph))
			return false;
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			return ph.p_filesz != 0;
	}
	return false;
}

static bool identify(int fd, const struct stat *st, struct symbol_file *file)
{
	struct elf_identity identity;
	char magic[SELFMAG];

	if (st->st_size < (off_t)sizeof(Elf64_Ehdr) || (uint64_t)st->st_size > ELF_FILE_BYTES_MAX ||
	    pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG) ||
	    elf_identify(fd, &identity) || identity.build_id_len < 2)
		return false;
	file->kind = SYMBOL_FILE_ELF;
	memcpy(file->build_id, identity.build_id, sizeof(file->build_id));
	file->build_id_len = identity.build_id_len;
	file->has_code = has_code(fd);
	return true;
}

static void look_at_file(struct symbol_dirs *d, const char *path)
{
	struct symbol_file file = {.folder = d->folders_cnt};
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = open_below(d->folders[file.folder].fd, path, &st);
	if (fd < 0)
		return;
	if (is_map(entry_basename(path), &file.pid))
		file.kind = SYMBOL_FILE_MAP;
	else if (symbol_is_image(path))
		file.kind = SYMBOL_FILE_IMAGE;
	else if (!identify(fd, &st, &file))
		return;
	if (d->files_cnt >= SYMBOL_FILES_MAX || GROW(d->files, d->files_cnt, d->files_cap)) {
		d->cut = true;
		return;
	}
	file.path = strdup(path);
	if (file.path)
		d->files[d->files_cnt++] = file;
}

static void look_through(struct symbol_dirs *d, int parent_fd, const char *name, const char *path,
			 unsigned depth);

static void look_at(struct symbol_dirs *d, int dir_fd, const struct dirent *entry,
		    const char *folder_path, unsigned depth)
{
	_cleanup_free_ char *path = NULL;
	unsigned char type = entry->d_type;
	struct stat st;

	if (asprintf(&path, "%s%s%s", folder_path, *folder_path ? "/" : "", entry->d_name) < 0) {
		path = NULL;
		return;
	}
	if (type == DT_UNKNOWN && !fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		type = IFTODT(st.st_mode);
	if (type == DT_DIR)
		look_through(d, dir_fd, entry->d_name, path, depth + 1);
	else if (type == DT_REG || type == DT_LNK)
		look_at_file(d, path);
}

static void look_through(struct symbol_dirs *d, int parent_fd, const char *name, const char *path,
			 unsigned depth)
{
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return;
	dir = depth > SYMBOL_DIRS_DEPTH ? NULL : fdopendir(fd);
	if (!dir) {
		d->cut = true;
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (d->entries++ >= SYMBOL_DIRS_ENTRIES) {
			d->cut = true;
			break;
		}
		look_at(d, fd, entry, path, depth);
	}
	closedir(dir);
}

int symbol_dirs_add(struct symbol_dirs *d, const char *name)
{
	int fd;

	if (d->folders_cnt >= SYMBOL_DIRS_MAX)
		return -E2BIG;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	d->folders[d->folders_cnt].fd = fd;
	d->folders[d->folders_cnt].name = name;
	look_through(d, fd, ".", "", 0);
	d->folders_cnt++;
	return 0;
}

/* --- giving ------------------------------------------------------------------------------------ */

static int give(struct symbol_dirs *d, struct symbol_file *file, uint64_t max_bytes,
		struct stat *ret_stat)
{
	int fd = open_below(d->folders[file->folder].fd, file->path, ret_stat);

	if (fd >= 0 && (uint64_t)ret_stat->st_size > max_bytes) {
		close(fd);
		return -1;
	}
	file->given |= fd >= 0;
	return fd;
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

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = pread(*(const int *)source, buf, len, (off_t)offset);

	return n < 0 ? -errno : n;
}

static void read_version(struct symbol_dirs *d, struct symbol_file *file)
{
	struct perfmap_image *image = NULL;
	const uint8_t *version;
	_cleanup_close_ int fd = -1;
	struct stat st;

	file->version_read = true;
	fd = open_below(d->folders[file->folder].fd, file->path, &st);
	if (fd < 0 || perfmap_image_load(read_at, &fd, &image))
		return;
	version = perfmap_image_mvid(image);
	if (version) {
		memcpy(file->version, version, sizeof(file->version));
		file->has_version = true;
	}
	perfmap_image_free(image);
}

static bool is_version(struct symbol_dirs *d, struct symbol_file *file,
		       const struct fetch_request *request)
{
	if (!file->version_read)
		read_version(d, file);
	return file->has_version &&
	       !memcmp(file->version, request->build_id, sizeof(file->version));
}

/* By name; of those of one name, e.g. of several runtimes, the one with the version id. */
static struct symbol_file *find_image(struct symbol_dirs *d, const struct fetch_request *request)
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

static bool serve_file(struct symbol_dirs *d, const struct fetch_request *request,
		       struct fetch_reply *reply, int *ret_fd)
{
	struct symbol_file *file = request->is_image ? find_image(d, request)
						     : find_build_id(d, request->build_id,
								     request->build_id_len, true);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!file)
		return false;
	fd = give(d, file, ELF_FILE_BYTES_MAX, &st);
	if (fd < 0)
		return false;
	if (!request->is_image && elf_identify(fd, &reply->identity))
		return false;
	if (request->is_image)
		reply->identity = (struct elf_identity){
			.dev = st.st_dev,
			.inode = st.st_ino,
			.size_bytes = (uint64_t)st.st_size,
			.ctime_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000u +
				    (uint64_t)st.st_ctim.tv_nsec,
		};
	reply->reason = REASON_NAMED;
	*ret_fd = request->identity_only ? -1 : take_fd(&fd);
	return true;
}

static bool serve_debug(struct symbol_dirs *d, const struct fetch_request *request,
			struct fetch_reply *reply, int *ret_fd)
{
	struct symbol_file *file =
		find_build_id(d, request->build_id, request->build_id_len, false);
	struct stat st;
	int fd;

	if (!file ||
	    (request->candidate && !memcmp(d->debug_id, file->build_id, sizeof(d->debug_id))))
		return false;
	memcpy(d->debug_id, file->build_id, sizeof(d->debug_id));
	fd = give(d, file, ELF_FILE_BYTES_MAX, &st);
	if (fd < 0)
		return false;
	reply->reason = REASON_NAMED;
	*ret_fd = fd;
	return true;
}

static bool serve_map(struct symbol_dirs *d, const struct symbol_pids *pids,
		      struct fetch_reply *reply, int *ret_fd)
{
	struct symbol_file *file = find_map(d, pids->tgid);
	struct stat st;
	int fd;

	if (!file)
		file = find_map(d, pids->ns_pid);
	if (!file)
		return false;
	fd = give(d, file, PERFMAP_FILE_BYTES_MAX, &st);
	if (fd < 0)
		return false;
	reply->error = 0;
	reply->dev = st.st_dev;
	reply->ino = st.st_ino;
	reply->local = true;
	*ret_fd = fd;
	return true;
}

bool symbol_dirs_serve(struct symbol_dirs *d, const struct fetch_request *request,
		       const struct symbol_pids *pids, struct fetch_reply *ret_reply, int *ret_fd)
{
	switch (request->what) {
	case FETCH_FILE:
		return serve_file(d, request, ret_reply, ret_fd);
	case FETCH_DEBUG:
		return serve_debug(d, request, ret_reply, ret_fd);
	case FETCH_MAP:
		return serve_map(d, pids, ret_reply, ret_fd);
	default:
		return false;
	}
}
