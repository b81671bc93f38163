/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile process's memory, which may change while it is read: the runtime in it is looked for,
 * its layout read, and every place of its code asked for. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_memory.h"
#include "perfmap/memory/locks.h"
#include "perfmap/names/name.h"

#define AT(offset) (FAKE_MEMORY_BASE + (offset))
#define STEP	   16u
#define STARTS	   64u
#define MANY	   160u
#define READS_MAX  65536u /* of a name */

static void must(int condition)
{
	if (!condition)
		abort();
}

static void take(void *taker, size_t index, const char *text,
		 const struct perfmap_memory_name *name)
{
	const uint64_t *addresses = taker;

	must(strlen(text) == name->len);
	must(name->is_stub || addresses[index] - name->start < name->size);
}

static void ask_together(struct perfmap_memory *m, struct fake_memory *memory)
{
	static uint64_t addresses[MANY];
	size_t reads = memory->reads;

	for (uint32_t i = 0; i < MANY; i++)
		addresses[i] =
			AT((i % 2 ? FAKE_MEMORY_READY_CODE : FAKE_MEMORY_ADD) + i / 2 * STEP);
	perfmap_memory_names(m, addresses, MANY, take, addresses);
	must(memory->reads - reads <= MANY * READS_MAX);
}

static void ask(struct perfmap_memory *m, struct fake_memory *memory, uint32_t from)
{
	char raw[2048], buf[PERFMAP_NAME_BYTES];
	struct perfmap_memory_name found;
	struct perfmap_name name;

	struct perfmap_memory_body body;

	for (uint32_t at = 0; at < 0x1000; at += STEP) {
		size_t reads = memory->reads;
		uint64_t address = AT(from + at);

		if (!perfmap_memory_name(m, address, raw, sizeof(raw), &found)) {
			must(found.len < sizeof(raw) && strlen(raw) == found.len);
			must(found.is_stub || address - found.start < found.size);
			perfmap_name_parse(raw, found.len, buf, sizeof(buf), &name);
			must(*name.display);
		}
		if (!perfmap_memory_body(m, address, &body))
			must(address - body.start < body.size);
		must(memory->reads - reads <= READS_MAX);
	}
}

/* Of a runtime that says where its threads are; they may not be, and locks lie anywhere. */
static void ask_holders(struct fake_memory *memory, bool new_runtime)
{
	static struct perfmap_memory_reader reader;
	struct perfmap_runtime runtime = {.threads = AT(FAKE_MEMORY_MAP)};
	struct perfmap_lock_wait wait = {.tid = 1, .often_cnt = PERFMAP_LOCK_POINTS / 2};
	struct perfmap_lock_holder holder = {0};

	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		runtime.layout.at[i] = PERFMAP_LAYOUT_NONE;
	runtime.layout.at[PERFMAP_THREAD_ID] = 16;
	runtime.layout.at[PERFMAP_THREAD_TID] = 24;
	runtime.layout.at[PERFMAP_THREAD_NEXT] = 48;
	runtime.layout.at[PERFMAP_THREADS_FIRST] = 8;
	runtime.layout.at[PERFMAP_TYPE_BYTES] = 4;
	if (new_runtime)
		runtime.layout.at[PERFMAP_BLOCK_LOCK] = 0;
	for (; wait.points_cnt < PERFMAP_LOCK_POINTS; wait.points_cnt++)
		memcpy(&wait.points[wait.points_cnt],
		       memory->bytes + FAKE_MEMORY_FRAGMENT + 8 * wait.points_cnt, 8);
	perfmap_memory_reader_init(&reader, fake_memory_read, memory, 1 << 22);
	if (!perfmap_locks_find(&reader, &runtime, &wait, 1, &holder))
		must(holder.tid != wait.tid && !holder.tid == !holder.kind);
	perfmap_memory_monitors(fake_memory_read, memory, &wait, 1, &holder);
	must(holder.tid != wait.tid && !holder.tid == !holder.kind);
}

/* The last bytes say what changes, and when. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct fake_memory memory;
	static uint64_t starts[STARTS];
	struct perfmap_memory_facts facts = {.descriptor = AT(FAKE_MEMORY_DESCRIPTOR)};
	struct perfmap_memory *m;

	memset(&memory, 0, sizeof(memory));
	memcpy(memory.bytes, data, len < FAKE_MEMORY_BYTES ? len : FAKE_MEMORY_BYTES);
	if (len >= FAKE_MEMORY_BYTES + 5) {
		const uint8_t *tail = data + FAKE_MEMORY_BYTES;

		memory.change_at = (size_t)(tail[0] | tail[1] << 8);
		memory.offset = (uint32_t)(tail[2] | tail[3] << 8) % FAKE_MEMORY_BYTES;
		memory.to = tail[4];
	}
	ask_holders(&memory, len & 1);
	memory.reads = 0;
	perfmap_memory_find(fake_memory_read, &memory, AT(FAKE_MEMORY_CODE), 0, &facts.descriptor);
	if (perfmap_memory_open(fake_memory_read, &memory, &facts, 16, &m))
		return 0;
	ask(m, &memory, FAKE_MEMORY_CODE);
	ask(m, &memory, FAKE_MEMORY_READY_CODE);
	ask_together(m, &memory);
	must(perfmap_memory_fleeting(m, starts, STARTS) <= STARTS);
	must(perfmap_memory_bodies(m, starts, STARTS) <= STARTS);
	perfmap_memory_close(m);
	return 0;
}
