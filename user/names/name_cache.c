/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/name_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"

/* Batches on their way; what is asked for beyond them waits until one is back. */
#define BATCHES_MAX   64u
#define BATCHES_PARTY 8u
/* Names of one batch. */
#define BATCH_NAMES 1024u

enum name_state {
	NAME_ASKED,
	NAME_LOST, /* it did not come, for no fault of its own: it may be asked for again */
	NAME_KNOWN,
};

/* The longest text that is believed: none that a worker makes of a name is longer. */
#define TEXT_BYTES_MAX (PARSE_NAME_BYTES + 1u)

/* Beyond this answers are not taken in until there is room: what is there may be needed still. */
#define BYTES_MOST (NAME_CACHE_BYTES + NAME_CACHE_BYTES / 2)

/* By what it is: the name's bytes, or the entry's place in its map. */
struct name {
	uint64_t key[2];
	uint64_t party;
	uint32_t bytes; /* of its texts */
	enum name_state state;
	uint32_t reason;
	uint32_t display, assembly, tier, raw; /* in texts */
	bool is_stub, is_framework;
};

/* What is asked for of one process. */
struct batch {
	uint32_t process;
	uint64_t party;
	bool sent;
	int fd; /* of the map, owned, or -1 */
	struct workers_job *job;
	struct parse_request *request; /* until it is sent */
	uint64_t keys[BATCH_NAMES][2];
	uint32_t cnt;
};

struct name_cache {
	struct file_requests *requests;
	struct name *names;
	size_t names_cnt, names_cap;
	struct hash_index index;
	char *texts;
	size_t texts_len, texts_cap;
	struct batch *batches[BATCHES_MAX];
	unsigned batches_cnt;
};

struct name_cache *name_cache_new(struct file_requests *requests)
{
	struct name_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->requests = requests;
	return c;
}

static void batch_free(struct name_cache *c, struct batch *b)
{
	workers_job_free(c->requests->workers, b->job);
	cleanup_close(&b->fd);
	free(b->request);
	free(b);
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->batches_cnt; i++)
		batch_free(c, c->batches[i]);
	free(c->names);
	free(c->texts);
	hash_clear(&c->index);
	free(c);
}

/* --- what is known ---------------------------------------------------------------------------- */

static bool name_equal(const void *owner, uint32_t row, const void *key)
{
	return !memcmp(((const struct name_cache *)owner)->names[row].key, key,
		       sizeof(((struct name *)0)->key));
}

static struct name *find(const struct name_cache *c, const uint64_t key[2])
{
	uint32_t row = hash_find(&c->index, hash_pair(key[0], key[1]), name_equal, c, key);

	return row == HASH_NONE ? NULL : &c->names[row];
}

static struct name *add(struct name_cache *c, uint64_t party, const uint64_t key[2])
{
	if (GROW(c->names, c->names_cnt, c->names_cap) ||
	    hash_add(&c->index, hash_pair(key[0], key[1]), (uint32_t)c->names_cnt))
		return NULL;
	c->names[c->names_cnt] = (struct name){.key = {key[0], key[1]}, .party = party};
	return &c->names[c->names_cnt++];
}

size_t name_cache_bytes(const struct name_cache *c)
{
	return c->texts_cap + c->names_cap * sizeof(*c->names);
}

/* --- room ------------------------------------------------------------------------------------- */

static size_t bytes_used(const struct name_cache *c)
{
	return c->texts_len + c->names_cnt * sizeof(*c->names);
}

/* What a party has. */
struct holding {
	uint64_t party;
	size_t bytes;
};

static int compare_holdings(const void *pa, const void *pb)
{
	const struct holding *a = pa, *b = pb;

	return (a->party > b->party) - (a->party < b->party);
}

/* One for each party; owned, NULL without memory. */
static struct holding *holdings(const struct name_cache *c, size_t *ret_cnt)
{
	struct holding *all = reallocarray(NULL, c->names_cnt + 1, sizeof(*all));
	size_t cnt = 0;

	if (!all)
		return NULL;
	for (size_t i = 0; i < c->names_cnt; i++)
		all[i] = (struct holding){c->names[i].party,
					  sizeof(c->names[i]) + c->names[i].bytes};
	qsort(all, c->names_cnt, sizeof(*all), compare_holdings);
	for (size_t i = 0; i < c->names_cnt; i++) {
		if (cnt && all[cnt - 1].party == all[i].party)
			all[cnt - 1].bytes += all[i].bytes;
		else
			all[cnt++] = all[i];
	}
	*ret_cnt = cnt;
	return all;
}

static int compare_bytes(const void *pa, const void *pb)
{
	const struct holding *a = pa, *b = pb;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Copies a name's texts from the old ones to the end of the new ones. */
static void move_texts(struct name *name, const char *from, char *to, size_t *to_len)
{
	uint32_t *texts[] = {&name->display, &name->assembly, &name->tier, &name->raw};

	for (size_t i = 0; name->bytes && i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(from + *texts[i]) + 1;

		memcpy(to + *to_len, from + *texts[i], len);
		*texts[i] = (uint32_t)*to_len;
		*to_len += len;
	}
}

static bool is_among(const struct holding *some, size_t cnt, uint64_t party)
{
	for (size_t i = 0; i < cnt; i++)
		if (some[i].party == party)
			return true;
	return false;
}

/* Those that are asked for stay so: their answers come. */
static void forget_known(struct name_cache *c, const struct holding *of, size_t of_cnt)
{
	char *texts = malloc(c->texts_len + 1);
	size_t kept = 0, len = 0;

	hash_clear(&c->index);
	for (size_t i = 0; i < c->names_cnt; i++) {
		struct name name = c->names[i];

		if (name.state != NAME_ASKED && (!texts || is_among(of, of_cnt, name.party)))
			continue;
		if (hash_add(&c->index, hash_pair(name.key[0], name.key[1]), (uint32_t)kept))
			continue;
		if (texts)
			move_texts(&name, c->texts, texts, &len);
		c->names[kept++] = name;
	}
	c->names_cnt = kept;
	free(c->texts);
	c->texts = texts;
	c->texts_cap = texts ? c->texts_len + 1 : 0;
	c->texts_len = len;
}

/* Whose names take most loses them, one party after the other, until half is free. Before answers
 * are taken, never in between: they may be used before they are forgotten. */
static void bound(struct name_cache *c)
{
	_cleanup_free_ struct holding *all = NULL;
	size_t cnt = 0, lost = 0, bytes = bytes_used(c);

	if (bytes <= NAME_CACHE_BYTES)
		return;
	all = holdings(c, &cnt);
	if (all)
		qsort(all, cnt, sizeof(*all), compare_bytes);
	for (; lost < cnt && bytes > NAME_CACHE_BYTES / 2; lost++)
		bytes -= all[lost].bytes < bytes ? all[lost].bytes : bytes;
	forget_known(c, all, lost);
}

/* Room for the texts of a name; they move. */
static bool make_room(struct name_cache *c, size_t bytes)
{
	size_t cap = c->texts_cap ? c->texts_cap : 65536;
	char *p;

	if (bytes_used(c) + bytes > BYTES_MOST)
		return false;
	while (cap - c->texts_len < bytes)
		cap *= 2;
	if (cap > BYTES_MOST)
		cap = BYTES_MOST;
	p = cap == c->texts_cap ? c->texts : realloc(c->texts, cap);
	if (!p)
		return false;
	c->texts = p;
	c->texts_cap = cap;
	return true;
}

static uint32_t keep_text(struct name_cache *c, const char *s, size_t len)
{
	size_t at = c->texts_len;

	memcpy(c->texts + at, s, len);
	c->texts[at + len] = '\0';
	c->texts_len += len + 1;
	return (uint32_t)at;
}

static const char *text_at(const struct name_cache *c, uint32_t at)
{
	return at < c->texts_len ? c->texts + at : "";
}

static void give_parts(const struct name_cache *c, const struct name *name,
		       struct name_parts *parts)
{
	*parts = (struct name_parts){
		.display = text_at(c, name->display),
		.assembly = text_at(c, name->assembly),
		.tier = text_at(c, name->tier),
		.raw = text_at(c, name->raw),
		.is_stub = name->is_stub,
		.is_framework = name->is_framework,
	};
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct batch *batch_of(struct name_cache *c, uint64_t party, uint32_t process, size_t bytes)
{
	unsigned same = 0;
	struct batch *b;

	for (unsigned i = 0; i < c->batches_cnt; i++) {
		b = c->batches[i];
		same += b->party == party;
		if (b->process == process && !b->sent && b->cnt < BATCH_NAMES &&
		    b->request->items.len + bytes <= PARSE_ITEMS_BYTES)
			return b;
	}
	if (c->batches_cnt == BATCHES_MAX || same >= BATCHES_PARTY)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->request = calloc(1, sizeof(*b->request));
	if (!b->request) {
		free(b);
		return NULL;
	}
	b->request->kind = PARSE_NAMES;
	b->process = process;
	b->party = party;
	b->fd = -1;
	c->batches[c->batches_cnt++] = b;
	return b;
}

/* Adds an item to what is asked for. False: there is no room now. */
static bool ask(struct name_cache *c, uint64_t party, uint32_t process, const uint64_t key[2],
		const struct parse_item *item, const void *bytes, int fd)
{
	size_t padded = sizeof(*item) + ((item->len + 7u) & ~(size_t)7);
	struct batch *b = batch_of(c, party, process, padded);
	struct name *name;
	unsigned char *to;

	if (!b)
		return false;
	if (fd >= 0 && b->fd < 0) {
		b->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (b->fd < 0)
			return false;
	}
	name = find(c, key);
	if (!name)
		name = add(c, party, key);
	if (!name)
		return false;
	name->state = NAME_ASKED;
	to = b->request->items.bytes + b->request->items.len;
	memcpy(to, item, sizeof(*item));
	memcpy(to + sizeof(*item), bytes, item->len);
	b->request->items.len += (uint32_t)padded;
	memcpy(b->keys[b->cnt++], key, sizeof(b->keys[0]));
	return true;
}

static enum model_reason get(struct name_cache *c, uint64_t party, uint32_t process,
			     const uint64_t key[2], const struct parse_item *item,
			     const void *bytes, int fd, struct name_parts *ret_parts)
{
	struct name *name = find(c, key);

	if (name && name->state == NAME_KNOWN) {
		if (!name->reason)
			give_parts(c, name, ret_parts);
		return (enum model_reason)name->reason;
	}
	if (!name || name->state == NAME_LOST)
		ask(c, party, process, key, item, bytes, fd);
	c->requests->deferred++;
	return REASON_PENDING;
}

enum model_reason name_cache_text(struct name_cache *c, const struct model *m, uint32_t process,
				  enum parse_name_kind kind, const char *raw,
				  struct name_parts *ret_parts)
{
	uint64_t party = file_requests_party(c->requests, m, process);
	struct parse_item item = {.kind = kind, .len = (uint32_t)strnlen(raw, PARSE_NAME_BYTES)};
	/* Two hashes: a name that another one's is given for would have to meet both. */
	uint64_t key[2] = {hash_bytes(raw, item.len), 0};

	key[1] = hash_pair(key[0] ^ item.len, party ^ kind) ^
		 hash_bytes(raw + item.len / 2, item.len - item.len / 2);
	return get(c, party, process, key, &item, raw, -1, ret_parts);
}

enum model_reason name_cache_line(struct name_cache *c, const struct model *m, uint32_t process,
				  const struct perfmap_hit *hit, int fd,
				  struct name_parts *ret_parts)
{
	struct parse_item item = {.kind = NAME_MAP_LINE, .len = sizeof(*hit)};
	uint64_t key[2] = {hash_pair(hit->start, (uint64_t)process << 32 | hit->offset),
			   hash_pair(hit->check, (uint64_t)hit->length << 32 | hit->size_bytes)};
	struct perfmap_hit asked = *hit;

	/* What is not of the line itself. */
	asked.seen_ns = 0;
	asked.later = false;
	return get(c, file_requests_party(c->requests, m, process), process, key, &item, &asked, fd,
		   ret_parts);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A text of an answer, as far as there is one. */
struct text {
	const char *s;
	size_t len;
};

static struct text text_of(const char *texts, size_t texts_len, uint32_t at)
{
	const char *s = at < texts_len ? texts + at : "";

	return (struct text){s, strnlen(s, TEXT_BYTES_MAX)};
}

static void keep_row(struct name_cache *c, const uint64_t key[2], const struct parse_named *row,
		     const char *text, size_t text_len)
{
	struct text display = text_of(text, text_len, row->display);
	struct text assembly = text_of(text, text_len, row->assembly);
	struct text tier = text_of(text, text_len, row->tier);
	struct text raw = text_of(text, text_len, row->raw);
	size_t bytes = display.len + assembly.len + tier.len + raw.len + 4;
	struct name *name = find(c, key);

	/* Answered before, by another row. */
	if (!name || name->state != NAME_ASKED)
		return;
	name->state = NAME_KNOWN;
	name->reason = row->reason < REASON_CNT ? row->reason : REASON_LIMIT;
	if (name->reason)
		return;
	if (!make_room(c, bytes)) {
		name->state = NAME_LOST;
		return;
	}
	name->bytes = (uint32_t)bytes;
	name->display = keep_text(c, display.s, display.len);
	name->assembly = keep_text(c, assembly.s, assembly.len);
	name->tier = keep_text(c, tier.s, tier.len);
	name->raw = keep_text(c, raw.s, raw.len);
	name->is_stub = row->is_stub;
	name->is_framework = row->is_framework;
}

/* Those that did not come: they say nothing for that reason, or are asked for again where it is not
 * theirs. */
static void fail(struct name_cache *c, const struct batch *b, enum model_reason reason)
{
	for (uint32_t i = 0; i < b->cnt; i++) {
		struct name *name = find(c, b->keys[i]);

		if (!name || name->state != NAME_ASKED)
			continue;
		name->state = reason == REASON_LIMIT || reason == REASON_FILE_TIMEOUT ? NAME_LOST
										      : NAME_KNOWN;
		name->reason = reason;
	}
}

static void take(struct name_cache *c, struct batch *b)
{
	const struct parse_named *rows = NULL;
	const char *text = NULL;
	size_t bytes, cnt = 0, text_len = 0;
	struct blob *blob = NULL;
	int fd = workers_job_take_result(b->job, &bytes);

	if (fd >= 0)
		blob = parse_named_rows(fd, bytes, &rows, &cnt, &text, &text_len);
	for (size_t i = 0; i < cnt && i < b->cnt; i++)
		keep_row(c, b->keys[i], &rows[i], text, text_len);
	blob_free(blob);
	fail(c, b, REASON_FILE_MALFORMED);
}

static void send(struct name_cache *c, const struct model *m, struct batch *b)
{
	b->job = file_requests_job_new(c->requests, m, b->process, b->request);
	b->sent = true;
	if (!b->job)
		return;
	if (b->fd >= 0)
		workers_job_give(b->job, take_fd(&b->fd));
	free(take_ptr(&b->request));
	file_requests_job_begin(c->requests, b->job, WORKERS_URGENT);
}

/* Returns whether the batch has ended. */
static bool advance(struct name_cache *c, const struct model *m, struct batch *b, bool wait)
{
	const struct parse_reply *reply;
	enum model_reason reason = REASON_LIMIT;

	if (!b->sent)
		send(c, m, b);
	if (b->job && !wait && workers_job_error(b->job) == -EINPROGRESS)
		return false;
	if (b->job)
		reason = file_requests_job_wait(c->requests, b->job,
						file_requests_party(c->requests, m, b->process),
						&reply);
	if (reason == REASON_PENDING)
		return false;
	if (reason)
		fail(c, b, reason);
	else
		take(c, b);
	file_requests_job_end(c->requests, b->process, take_ptr(&b->job));
	return true;
}

bool name_cache_flush(struct name_cache *c, const struct model *m, bool wait)
{
	bool any = false;

	if (!c->batches_cnt)
		return false;
	bound(c);
	/* All are on their way before one is waited for. */
	for (unsigned i = 0; i < c->batches_cnt; i++)
		if (!c->batches[i]->sent)
			send(c, m, c->batches[i]);
	for (unsigned i = 0; i < c->batches_cnt;) {
		struct batch *b = c->batches[i];

		if (!advance(c, m, b, wait)) {
			i++;
			continue;
		}
		any = true;
		batch_free(c, b);
		c->batches[i] = c->batches[--c->batches_cnt];
	}
	return any;
}
