/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_memory.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_names.h"

#define AT(offset)   (FAKE_MEMORY_BASE + (offset))
#define AT_DYNAMIC   0x200u
#define AT_SYMBOLS   0x300u
#define AT_STRINGS   0x380u
#define AT_HASH	     0x400u
#define AT_POINTERS  0x2040u
#define AT_VERSIONS  0x5e00u
#define AT_CODE_DATA 0x5e40u
#define AT_LISTS     0x5f08u
#define AT_LIST	     0x5f20u
#define AT_BLOB	     0x6540u
#define AT_FRAGMENT  0x6800u /* of the precompiled image, and its section */
#define AT_SECTION   0x6840u
#define AT_HEADER    0x8300u

/* As .NET 10.0.12 has it, for what names need. */
static const char json[] =
	"{\"version\":0,\"baseline\":\"empty\",\"types\":{"
	"\"RangeSectionMap\":{\"TopLevelData\":0},"
	"\"RangeSectionFragment\":{\"RangeBegin\":8,\"RangeEndOpen\":16,\"RangeSection\":24,"
	"\"Next\":0},"
	"\"RangeSection\":{\"RangeBegin\":0,\"Flags\":16,\"HeapList\":40,\"R2RModule\":32},"
	"\"CodeHeapListNode\":{\"StartAddress\":16,\"EndAddress\":24,\"MapBase\":32,\"HeaderMap\":"
	"40},"
	"\"RealCodeHeader\":{\"MethodDesc\":24,\"NumUnwindInfos\":32,\"UnwindInfos\":36},"
	"\"RuntimeFunction\":{\"!\":12,\"BeginAddress\":0,\"EndAddress\":4,\"UnwindData\":8},"
	"\"MethodDesc\":{\"!\":16,\"ChunkIndex\":2,\"Flags\":6,\"Flags3AndTokenRemainder\":0,"
	"\"CodeData\":8},"
	"\"MethodDescChunk\":{\"!\":24,\"MethodTable\":0,\"FlagsAndTokenRange\":18},"
	"\"StoredSigMethodDesc\":{\"Sig\":16,\"cSig\":24,\"ExtendedFlags\":28},"
	"\"DynamicMethodDesc\":{\"!\":48,\"MethodName\":[32,\"pointer\"]},"
	"\"MethodTable\":{\"MTFlags\":0,\"MTFlags2\":8,\"EEClassOrCanonMT\":40,\"Module\":24,"
	"\"PerInstInfo\":48},"
	"\"GenericsDictInfo\":{\"NumDicts\":4,\"NumTypeArgs\":6},"
	"\"TypeDesc\":{\"TypeAndFlags\":0},\"ParamTypeDesc\":{\"TypeArg\":16},"
	"\"Module\":{\"Base\":224,\"Flags\":232,\"Path\":200,\"FileName\":208,\"PEAssembly\":216,"
	"\"ReadyToRunInfo\":704},"
	"\"ReadyToRunInfo\":{\"ReadyToRunHeader\":16,\"CompositeInfo\":40,"
	"\"NumRuntimeFunctions\":88,\"RuntimeFunctions\":80,\"NumHotColdMap\":104,"
	"\"EntryPointToMethodDescMap\":360},"
	"\"HashMap\":{\"Buckets\":16},\"Bucket\":{\"!\":64,\"Keys\":0,\"Values\":32},"
	"\"MethodDescCodeData\":{\"VersioningState\":0},"
	"\"MethodDescVersioningState\":{\"NativeCodeVersionNode\":16},"
	"\"NativeCodeVersionNode\":{\"Next\":24,\"MethodDesc\":8,\"NativeCode\":0,\"Flags\":52,"
	"\"ILVersionId\":16}},"
	"\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"],"
	"\"HashMapSlotsPerBucket\":[\"0x4\",\"uint32\"],"
	"\"MethodDescAlignment\":[\"0x8\",\"uint64\"],\"StubCodeBlockLast\":[\"0xf\",\"uint8\"],"
	"\"ExecutionManagerCodeRangeMapAddress\":[[1],\"pointer\"],\"Architecture\":[\"x64\","
	"\"string\"]},"
	"\"contracts\":{\"ExecutionManager\":2,\"RuntimeTypeSystem\":1,\"Loader\":1}}";
_Static_assert(sizeof(json) < FAKE_MEMORY_MAP - FAKE_MEMORY_JSON, "it fits");

void fake_memory_put(struct fake_memory *m, uint32_t offset, uint64_t value, size_t len)
{
	fake_image_put(m->bytes, offset, value, len);
}

static void put_struct(struct fake_memory *m, uint32_t offset, const void *bytes, size_t len)
{
	memcpy(m->bytes + offset, bytes, len);
}

static void put_segment(struct fake_memory *m, unsigned i, uint32_t type, uint32_t flags,
			uint64_t vaddr, uint64_t bytes)
{
	Elf64_Phdr s = {.p_type = type, .p_flags = flags, .p_vaddr = vaddr, .p_memsz = bytes};

	put_struct(m, (uint32_t)(sizeof(Elf64_Ehdr) + i * sizeof(s)), &s, sizeof(s));
}

static void put_dynamic(struct fake_memory *m, unsigned i, int64_t tag, uint64_t value)
{
	Elf64_Dyn d = {.d_tag = tag, .d_un.d_val = value};

	put_struct(m, (uint32_t)(AT_DYNAMIC + i * sizeof(d)), &d, sizeof(d));
}

static void put_library(struct fake_memory *m)
{
	static const char name[] = "DotNetRuntimeContractDescriptor";
	Elf64_Sym symbol = {.st_name = 1, .st_shndx = 1, .st_value = FAKE_MEMORY_DESCRIPTOR};
	Elf64_Ehdr header = {
		.e_phoff = sizeof(header), .e_phnum = 3, .e_phentsize = sizeof(Elf64_Phdr)};
	uint32_t hash = 5381;

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	put_struct(m, 0, &header, sizeof(header));
	put_segment(m, 0, PT_LOAD, PF_R, 0, 0x1000);
	put_segment(m, 1, PT_LOAD, PF_R | PF_X, 0x1000, 0x1800);
	put_segment(m, 2, PT_DYNAMIC, PF_R, AT_DYNAMIC, 0x40);
	put_dynamic(m, 0, DT_SYMTAB, AT(AT_SYMBOLS));
	put_dynamic(m, 1, DT_STRTAB, AT_STRINGS); /* as musl leaves it */
	put_dynamic(m, 2, DT_GNU_HASH, AT(AT_HASH));
	put_struct(m, AT_SYMBOLS + sizeof(symbol), &symbol, sizeof(symbol));
	put_struct(m, AT_STRINGS + 1, name, sizeof(name));
	for (const char *s = name; *s; s++)
		hash = hash * 33 + (uint8_t)*s;
	fake_memory_put(m, AT_HASH, 1, 4);	/* buckets */
	fake_memory_put(m, AT_HASH + 4, 1, 4);	/* the first symbol in them */
	fake_memory_put(m, AT_HASH + 8, 1, 4);	/* words of the filter */
	fake_memory_put(m, AT_HASH + 24, 1, 4); /* the bucket */
	fake_memory_put(m, AT_HASH + 28, hash | 1, 4);
}

static void put_descriptor(struct fake_memory *m)
{
	put_struct(m, FAKE_MEMORY_DESCRIPTOR, "DNCCDAC", 8);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 8, 1, 4);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 12, sizeof(json) - 1, 4);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 16, AT(FAKE_MEMORY_JSON), 8);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 24, 2, 4);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 32, AT(AT_POINTERS), 8);
	fake_memory_put(m, AT_POINTERS + 8, AT(FAKE_MEMORY_MAP), 8);
	put_struct(m, FAKE_MEMORY_JSON, json, sizeof(json) - 1);
}

static void put_code_map(struct fake_memory *m)
{
	for (unsigned level = 0; level < 5; level++) {
		uint32_t table = FAKE_MEMORY_MAP + 0x800 * level;
		uint32_t index = AT(FAKE_MEMORY_CODE) >> (49 - 8 * level) & 255;
		uint32_t to = level == 4 ? FAKE_MEMORY_FRAGMENT : table + 0x800;

		/* Marked in the lowest bit as those of collectible code are. */
		fake_memory_put(m, table + 8 * index, AT(to) | (level == 3), 8);
	}
	fake_memory_put(m, FAKE_MEMORY_FRAGMENT + 8, AT(FAKE_MEMORY_CODE), 8);
	fake_memory_put(m, FAKE_MEMORY_FRAGMENT + 16, AT(FAKE_MEMORY_CODE + 0x1000), 8);
	fake_memory_put(m, FAKE_MEMORY_FRAGMENT + 24, AT(FAKE_MEMORY_SECTION), 8);
	fake_memory_put(m, FAKE_MEMORY_SECTION, AT(FAKE_MEMORY_CODE), 8);
	fake_memory_put(m, FAKE_MEMORY_SECTION + 16, 2, 4); /* code that stays */
	fake_memory_put(m, FAKE_MEMORY_SECTION + 40, AT(FAKE_MEMORY_HEAP), 8);
	fake_memory_put(m, FAKE_MEMORY_HEAP + 16, AT(FAKE_MEMORY_CODE), 8);
	fake_memory_put(m, FAKE_MEMORY_HEAP + 24, AT(FAKE_MEMORY_CODE + 0x1000), 8);
	fake_memory_put(m, FAKE_MEMORY_HEAP + 32, AT(FAKE_MEMORY_CODE), 8);
	fake_memory_put(m, FAKE_MEMORY_HEAP + 40, AT(FAKE_MEMORY_NIBBLES), 8);
}

/* Says where code begins, and that its header is that; where it lies in a bucket is 0. */
static void put_start(struct fake_memory *m, uint32_t start, uint64_t header)
{
	uint32_t bucket = (start - FAKE_MEMORY_CODE) / 32;
	uint32_t at = FAKE_MEMORY_NIBBLES + bucket / 8 * 4, word;

	memcpy(&word, m->bytes + at, sizeof(word));
	fake_memory_put(m, at, word | 1u << 4 * (7 - bucket % 8), 4);
	fake_memory_put(m, start - 8, header, 8);
}

static void put_body(struct fake_memory *m, unsigned i, uint32_t start)
{
	put_start(m, start, AT(FAKE_MEMORY_HEADER(i)));
	fake_memory_put(m, FAKE_MEMORY_HEADER(i) + 24, AT(FAKE_MEMORY_METHOD(i)), 8);
	fake_memory_put(m, FAKE_MEMORY_HEADER(i) + 32, 1, 4);
	fake_memory_put(m, FAKE_MEMORY_HEADER(i) + 36, start - FAKE_MEMORY_CODE, 4);
	fake_memory_put(m, FAKE_MEMORY_HEADER(i) + 40, start - FAKE_MEMORY_CODE + FAKE_MEMORY_SIZE,
			4);
}

static void put_method(struct fake_memory *m, unsigned i, uint32_t type, uint32_t row,
		       uint32_t flags)
{
	fake_memory_put(m, FAKE_MEMORY_CHUNK(i), AT(type), 8);
	fake_memory_put(m, FAKE_MEMORY_METHOD(i), row | 0x8000, 2);
	fake_memory_put(m, FAKE_MEMORY_METHOD(i) + 6, flags, 2);
}

static void put_types(struct fake_memory *m)
{
	fake_memory_put(m, FAKE_MEMORY_CART + 8, 2 << 8, 4); /* row of TypeDef */
	fake_memory_put(m, FAKE_MEMORY_CART + 24, AT(FAKE_MEMORY_MODULE), 8);
	fake_memory_put(m, FAKE_MEMORY_BOX, 0x20, 4); /* generic */
	fake_memory_put(m, FAKE_MEMORY_BOX + 8, 4 << 8, 4);
	fake_memory_put(m, FAKE_MEMORY_BOX + 24, AT(FAKE_MEMORY_MODULE), 8);
	fake_memory_put(m, FAKE_MEMORY_BOX + 48, AT(AT_LISTS), 8);
	fake_memory_put(m, AT_LISTS - 4, 1, 2); /* lists, and arguments */
	fake_memory_put(m, AT_LISTS - 2, 1, 2);
	fake_memory_put(m, AT_LISTS, AT(AT_LIST), 8);
	fake_memory_put(m, AT_LIST, AT(FAKE_MEMORY_CART), 8);
}

/* The second tier of GET. */
static void put_version(struct fake_memory *m)
{
	fake_memory_put(m, FAKE_MEMORY_METHOD(1) + 8, AT(AT_CODE_DATA), 8);
	fake_memory_put(m, AT_CODE_DATA, AT(AT_VERSIONS), 8);
	fake_memory_put(m, AT_VERSIONS + 16, AT(FAKE_MEMORY_VERSION), 8);
	fake_memory_put(m, FAKE_MEMORY_VERSION, AT(FAKE_MEMORY_GET), 8);
	fake_memory_put(m, FAKE_MEMORY_VERSION + 36, 1, 4);
}

/* void Made(Shop.Cart, int32), the first by its address. */
static void put_dynamic_method(struct fake_memory *m)
{
	static const uint8_t blob[] = {0, 2, 1, 0x21};

	put_method(m, 2, FAKE_MEMORY_CART, 0, 7);
	fake_memory_put(m, FAKE_MEMORY_METHOD(2), 0, 2); /* no tiers */
	fake_memory_put(m, FAKE_MEMORY_METHOD(2) + 16, AT(AT_BLOB), 8);
	fake_memory_put(m, FAKE_MEMORY_METHOD(2) + 24, sizeof(blob) + 9, 4);
	fake_memory_put(m, FAKE_MEMORY_METHOD(2) + 28, 0x4000, 4);
	fake_memory_put(m, FAKE_MEMORY_METHOD(2) + 32, AT(FAKE_MEMORY_NAME), 8);
	put_struct(m, AT_BLOB, blob, sizeof(blob));
	fake_memory_put(m, AT_BLOB + sizeof(blob), AT(FAKE_MEMORY_CART), 8);
	fake_memory_put(m, AT_BLOB + sizeof(blob) + 8, 0x08, 1);
	put_struct(m, FAKE_MEMORY_NAME, "Made", 5);
}

#define BUCKETS	     3u
#define BUCKET_BYTES 64u

void fake_memory_entry(struct fake_memory *m, uint32_t entry, uint32_t method, unsigned look)
{
	uint64_t key = AT(entry);
	uint32_t seed = (uint32_t)(key >> 2), step = 1 + ((uint32_t)(key >> 5) + 1) % (BUCKETS - 1);
	uint32_t at = FAKE_MEMORY_BUCKETS + BUCKET_BYTES * (1 + (seed + look * step) % BUCKETS);

	/* The third of four slots. */
	fake_memory_put(m, at + 2 * 8, key, 8);
	fake_memory_put(m, at + 32 + 2 * 8, AT(method) >> 1, 8);
}

static void put_function(struct fake_memory *m, unsigned i)
{
	uint32_t row = FAKE_MEMORY_FUNCTIONS + 12 * i;
	uint32_t begin = FAKE_MEMORY_READY_CODE - FAKE_MEMORY_READY + i * FAKE_MEMORY_READY_SIZE;

	fake_memory_put(m, row, begin, 4);
	fake_memory_put(m, row + 4, begin + FAKE_MEMORY_READY_SIZE, 4);
}

/* ADD, a handler of it, and a method that never ran. */
static void put_ready(struct fake_memory *m)
{
	uint32_t begin = FAKE_MEMORY_READY_CODE - FAKE_MEMORY_READY;

	fake_memory_put(m, FAKE_MEMORY_FRAGMENT, AT(AT_FRAGMENT), 8);
	fake_memory_put(m, AT_FRAGMENT + 8, AT(FAKE_MEMORY_READY), 8);
	fake_memory_put(m, AT_FRAGMENT + 16, AT(FAKE_MEMORY_BYTES), 8);
	fake_memory_put(m, AT_FRAGMENT + 24, AT(AT_SECTION), 8);
	fake_memory_put(m, AT_SECTION, AT(FAKE_MEMORY_READY), 8);
	fake_memory_put(m, AT_SECTION + 32, AT(FAKE_MEMORY_MODULE), 8);
	fake_memory_put(m, FAKE_MEMORY_MODULE + 704, AT(FAKE_MEMORY_READY_INFO), 8);
	fake_memory_put(m, FAKE_MEMORY_READY_INFO + 16, AT(AT_HEADER), 8);
	fake_memory_put(m, FAKE_MEMORY_READY_INFO + 40, AT(FAKE_MEMORY_READY_INFO), 8);
	fake_memory_put(m, FAKE_MEMORY_READY_INFO + 80, AT(FAKE_MEMORY_FUNCTIONS), 8);
	fake_memory_put(m, FAKE_MEMORY_READY_INFO + 88, 3, 4);
	fake_memory_put(m, FAKE_MEMORY_READY_INFO + 360 + 16, AT(FAKE_MEMORY_BUCKETS), 8);
	fake_memory_put(m, FAKE_MEMORY_BUCKETS, BUCKETS, 4);
	for (unsigned i = 0; i < 3; i++)
		put_function(m, i);
	fake_memory_entry(m, FAKE_MEMORY_READY_CODE, FAKE_MEMORY_METHOD(0), 0);
	fake_memory_put(m, AT_HEADER + 12, 1, 4); /* sections: exceptions */
	fake_memory_put(m, AT_HEADER + 16, 104, 4);
	fake_memory_put(m, AT_HEADER + 20, FAKE_MEMORY_EXCEPTIONS - FAKE_MEMORY_READY, 4);
	fake_memory_put(m, AT_HEADER + 24, 16, 4);
	fake_memory_put(m, FAKE_MEMORY_EXCEPTIONS, begin, 4);
	fake_memory_put(m, FAKE_MEMORY_EXCEPTIONS + 4, FAKE_MEMORY_CLAUSE - FAKE_MEMORY_READY, 4);
	fake_memory_put(m, FAKE_MEMORY_EXCEPTIONS + 8, UINT32_MAX, 4);
	fake_memory_put(m, FAKE_MEMORY_EXCEPTIONS + 12, FAKE_MEMORY_CLAUSE + 24 - FAKE_MEMORY_READY,
			4);
	fake_memory_put(m, FAKE_MEMORY_CLAUSE + 12, FAKE_MEMORY_READY_SIZE, 4);
}

void fake_memory(struct fake_memory *m)
{
	struct fake_names places;

	memset(m, 0, sizeof(*m));
	put_library(m);
	put_descriptor(m);
	put_code_map(m);
	put_body(m, 0, FAKE_MEMORY_ADD);
	put_body(m, 1, FAKE_MEMORY_GET);
	put_body(m, 2, FAKE_MEMORY_MADE);
	put_start(m, FAKE_MEMORY_STUB, 2);
	put_types(m);
	put_method(m, 0, FAKE_MEMORY_CART, 1, 0);
	put_method(m, 1, FAKE_MEMORY_BOX, 4, 0);
	put_version(m);
	put_dynamic_method(m);
	put_ready(m);
	fake_memory_put(m, FAKE_MEMORY_MODULE + 224, AT(FAKE_MEMORY_IMAGE), 8);
	fake_names(FAKE_IMAGE_X64, m->bytes + FAKE_MEMORY_IMAGE, &places);
}

void fake_memory_thin(struct fake_memory *m)
{
	static const char thin[] =
		"{\"types\":{\"Module\":{\"Base\":224},"
		"\"MethodTable\":{\"MTFlags\":0,\"MTFlags2\":8,\"EEClassOrCanonMT\":40,"
		"\"Module\":24,\"PerInstInfo\":48},\"GenericsDictInfo\":{\"NumTypeArgs\":6},"
		"\"TypeDesc\":{\"TypeAndFlags\":0},\"ParamTypeDesc\":{\"TypeArg\":16},"
		"\"MethodDesc\":{\"ChunkIndex\":2,\"Flags\":6,\"Flags3AndTokenRemainder\":0},"
		"\"MethodDescChunk\":{\"!\":24,\"MethodTable\":0,\"FlagsAndTokenRange\":18},"
		"\"StoredSigMethodDesc\":{\"Sig\":16,\"cSig\":24,\"ExtendedFlags\":28},"
		"\"DynamicMethodDesc\":{\"MethodName\":32}},"
		"\"globals\":{},\"contracts\":{\"RuntimeTypeSystem\":1}}";

	fake_memory(m);
	put_struct(m, FAKE_MEMORY_JSON, thin, sizeof(thin) - 1);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 12, sizeof(thin) - 1, 4);
	fake_memory_put(m, FAKE_MEMORY_DESCRIPTOR + 24, 0, 4);
	put_segment(m, 3, PT_LOAD, PF_R | PF_W, 0x2000, 0x4000); /* its variables */
	fake_memory_put(m, offsetof(Elf64_Ehdr, e_phnum), 4, 2);
}

ssize_t fake_memory_read(void *source, void *buf, size_t len, uint64_t address)
{
	struct fake_memory *m = source;
	uint64_t at = address - FAKE_MEMORY_BASE;

	if (m->reads++ == m->change_at && m->change_at)
		m->bytes[m->offset] = m->to;
	if (at >= FAKE_MEMORY_BYTES)
		return -EIO;
	if (len > FAKE_MEMORY_BYTES - at)
		len = FAKE_MEMORY_BYTES - at;
	memcpy(buf, m->bytes + at, len);
	return (ssize_t)len;
}
