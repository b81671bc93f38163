/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define READ_BYTES     (256u * 1024)
#define LINE_BYTES_MAX 1024 /* KSYM_NAME_LEN is 512 */
/* The last function of a module ends somewhere before the next module: no function is longer. */
#define LAST_SIZE_MAX 65536u

struct function {
	uint64_t start;
	uint32_t size;	 /* until settled: 1 = text, 0 = only bounds the function before it */
	uint32_t name;	 /* offset in names */
	uint16_t module; /* row of modules */
	uint8_t rank;	 /* of aliases, less is better */
};

struct kallsyms {
	struct function *functions;
	size_t functions_cnt, functions_cap;
	char *names;
	size_t names_len, names_cap;
	char **modules; /* [0] is the kernel itself */
	size_t modules_cnt, modules_cap;
	uint64_t text;
	bool seen_address;
	uint64_t bytes;
	char part[LINE_BYTES_MAX]; /* a line cut by the end of a piece */
	size_t part_len;
};

static int add_module(struct kallsyms *k, const char *name, size_t len)
{
	if (k->modules_cnt >= KALLSYMS_MODULES_MAX)
		return 0;
	if (GROW(k->modules, k->modules_cnt, k->modules_cap))
		return -ENOMEM;
	k->modules[k->modules_cnt] = strndup(name, len);
	if (!k->modules[k->modules_cnt])
		return -ENOMEM;
	k->modules_cnt++;
	return 0;
}

struct kallsyms *kallsyms_new(void)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (k && add_module(k, "[kernel]", strlen("[kernel]"))) {
		kallsyms_free(k);
		return NULL;
	}
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->modules_cnt; i++)
		free(k->modules[i]);
	free(k->modules);
	free(k->functions);
	free(k->names);
	free(k);
}

/* Modules come in runs, so the newest is nearly always the one. */
static int module_row(struct kallsyms *k, const char *name, size_t len, uint16_t *ret_row)
{
	bool bpf = len == 3 && !memcmp(name, "bpf", 3);

	if (bpf) {
		name = "[bpf]";
		len = strlen(name);
	}
	for (size_t back = 0; back < 2 && back < k->modules_cnt; back++) {
		const char *known = k->modules[k->modules_cnt - 1 - back];

		if (strlen(known) == len && !memcmp(known, name, len)) {
			*ret_row = (uint16_t)(k->modules_cnt - 1 - back);
			return 0;
		}
	}
	if (add_module(k, name, len))
		return -ENOMEM;
	*ret_row = (uint16_t)(k->modules_cnt - 1);
	return 0;
}

static int add_name(struct kallsyms *k, const char *name, size_t len, uint32_t *ret_offset)
{
	if (k->names_len + len + 1 > UINT32_MAX)
		return -EFBIG;
	while (k->names_cap - k->names_len < len + 1) {
		size_t cap = k->names_cap ? k->names_cap * 2 : 1u << 20;
		char *p = realloc(k->names, cap);

		if (!p)
			return -ENOMEM;
		k->names = p;
		k->names_cap = cap;
	}
	*ret_offset = (uint32_t)k->names_len;
	memcpy(k->names + k->names_len, name, len);
	k->names[k->names_len + len] = '\0';
	k->names_len += len + 1;
	return 0;
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "ffffffff81000000 T name" and, for modules, "\t[module]". Other lines are skipped. */
static int add_line(struct kallsyms *k, const char *s, size_t len)
{
	const char *end = s + len, *name, *tab;
	struct function f = {0};
	uint64_t address = 0;
	size_t name_len;
	char type;
	bool text;
	int err;

	for (; s < end && hex_digit((unsigned char)*s) >= 0; s++)
		address = address << 4 | (unsigned)hex_digit((unsigned char)*s);
	if (end - s < 4 || s[0] != ' ' || s[2] != ' ')
		return 0;
	type = s[1];
	name = s + 3;
	tab = memchr(name, '\t', (size_t)(end - name));
	name_len = (size_t)((tab ? tab : end) - name);
	text = type == 't' || type == 'T' || type == 'w' || type == 'W';
	if (address)
		k->seen_address = true;
	/* Offsets into per-CPU areas look like small addresses. */
	if (!address || type == 'A' || type == 'a' || !name_len || address < 1u << 20)
		return 0;
	if (name_len == 5 && !memcmp(name, "_text", 5) && !tab)
		k->text = address;
	if (k->functions_cnt >= KALLSYMS_SYMBOLS_MAX)
		return -EFBIG;
	f.start = address;
	f.size = text;
	f.rank = (uint8_t)((type == 'T' || type == 'W' ? 0 : 2) + (name[0] == '_'));
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		err = module_row(k, tab + 2, (size_t)(end - tab) - 3, &f.module);
		if (err)
			return err;
	}
	if (text) {
		err = add_name(k, name, name_len, &f.name);
		if (err)
			return err;
	}
	if (GROW(k->functions, k->functions_cnt, k->functions_cap))
		return -ENOMEM;
	k->functions[k->functions_cnt++] = f;
	return 0;
}

int kallsyms_feed(struct kallsyms *k, const char *text, size_t len)
{
	const char *end = text + len;
	int err = 0;

	k->bytes += len;
	if (k->bytes > KALLSYMS_BYTES_MAX)
		return -EFBIG;
	while (text < end && !err) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline : end) - text);

		if (newline && !k->part_len) {
			err = add_line(k, text, n);
		} else {
			size_t room = sizeof(k->part) - k->part_len;

			memcpy(k->part + k->part_len, text, n < room ? n : room);
			k->part_len += n < room ? n : room;
			if (newline) {
				err = add_line(k, k->part, k->part_len);
				k->part_len = 0;
			}
		}
		text += n + 1;
	}
	return err;
}

static int compare(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	/* Text before symbols that only bound. */
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->rank != b->rank)
		return (a->rank > b->rank) - (a->rank < b->rank);
	return (a->name > b->name) - (a->name < b->name);
}

int kallsyms_finish(struct kallsyms *k)
{
	size_t kept = 0, text_cnt = 0;

	if (!k->seen_address)
		return -EACCES;
	if (!k->functions_cnt)
		return 0;
	qsort(k->functions, k->functions_cnt, sizeof(*k->functions), compare);
	for (size_t i = 1; i < k->functions_cnt; i++)
		if (k->functions[i].start != k->functions[kept].start)
			k->functions[++kept] = k->functions[i];
	k->functions_cnt = kept + 1;
	for (size_t i = 0; i < k->functions_cnt; i++) {
		struct function f = k->functions[i];
		uint64_t gap = LAST_SIZE_MAX;

		if (!f.size)
			continue;
		if (i + 1 < k->functions_cnt) {
			uint64_t next = k->functions[i + 1].start - f.start;

			if (next < gap || k->functions[i + 1].module == f.module)
				gap = next;
		}
		f.size = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
		k->functions[text_cnt++] = f;
	}
	k->functions_cnt = text_cnt;
	return 0;
}

struct kallsyms *kallsyms_read(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *buf = malloc(READ_BYTES);
	struct kallsyms *k;
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return NULL;
	k = buf ? kallsyms_new() : NULL;
	if (!k)
		return NULL;
	while (!err && (n = read(fd, buf, READ_BYTES)) != 0) {
		if (n > 0)
			err = kallsyms_feed(k, buf, (size_t)n);
		else if (errno != EINTR)
			err = -errno;
	}
	if (!err)
		err = kallsyms_finish(k);
	if (!err)
		return k;
	kallsyms_free(k);
	errno = -err;
	return NULL;
}

uint64_t kallsyms_text(const struct kallsyms *k)
{
	return k->text;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->functions_cnt;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_place *ret_place)
{
	size_t low = 0, high = k->functions_cnt;
	const struct function *f;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->functions[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	f = &k->functions[low - 1];
	if (address - f->start >= f->size)
		return false;
	*ret_place = (struct kallsyms_place){
		.name = k->names + f->name,
		.module = k->modules[f->module],
		.start = f->start,
	};
	return true;
}
