/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names_support.h"

#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

void fake_proc_make(struct fake_proc *proc)
{
	strcpy(proc->path, "/tmp/hotrun-names-XXXXXX");
	must(!!mkdtemp(proc->path), "mkdtemp");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void fake_proc_remove(struct fake_proc *proc)
{
	nftw(proc->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fake_path(const struct fake_proc *proc, const char *format, ...)
{
	static char path[512];
	va_list args;
	int n = snprintf(path, sizeof(path), "%s/", proc->path);

	va_start(args, format);
	vsnprintf(path + n, sizeof(path) - (size_t)n, format, args);
	va_end(args);
	return path;
}

static void make_parents(const char *path)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *s = copy + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(copy, 0755);
		*s = '/';
	}
}

void fake_file(const struct fake_proc *proc, const char *name, const void *bytes, size_t len)
{
	const char *path = fake_path(proc, "%s", name);
	int fd;

	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd >= 0, path);
	must(write(fd, bytes, len) == (ssize_t)len, path);
	close(fd);
}

void fake_text(const struct fake_proc *proc, const char *name, const char *text)
{
	fake_file(proc, name, text, strlen(text));
}

void fake_process(const struct fake_proc *proc, const struct fake_process *p)
{
	char name[64], text[512], ours[16];
	const char *uid = p->uid ? p->uid : ours;
	int n;

	snprintf(ours, sizeof(ours), "%u", getuid());
	snprintf(name, sizeof(name), "%" PRIu32 "/root/", p->tgid);
	make_parents(fake_path(proc, "%s", name));
	n = snprintf(text, sizeof(text),
		     "%" PRIu32 " (%s) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %" PRIu64
		     " 1000 10 18446744073709551615\n",
		     p->tgid, p->comm, p->start_ticks);
	snprintf(name, sizeof(name), "%" PRIu32 "/stat", p->tgid);
	fake_file(proc, name, text, (size_t)n);
	n = snprintf(text, sizeof(text),
		     "Name:\t%s\nUmask:\t0022\nPid:\t%" PRIu32
		     "\nUid:\t%s\t%u\t%s\t%s\nGid:\t%u\t%u\t%u\t%u\nGroups:\t \nNStgid:\t%" PRIu32
		     "\t7\nThreads:\t1\nCapEff:\t0000000000000000\n",
		     p->comm, p->tgid, uid, geteuid(), uid, uid, getgid(), getgid(), getgid(),
		     getgid(), p->tgid);
	snprintf(name, sizeof(name), "%" PRIu32 "/status", p->tgid);
	fake_file(proc, name, text, (size_t)n);
	snprintf(name, sizeof(name), "%" PRIu32 "/cgroup", p->tgid);
	fake_text(proc, name, p->cgroup ? p->cgroup : "0::/\n");
	snprintf(name, sizeof(name), "%" PRIu32 "/cmdline", p->tgid);
	fake_file(proc, name, p->cmdline ? p->cmdline : "", p->cmdline_len);
	snprintf(name, sizeof(name), "%" PRIu32 "/environ", p->tgid);
	fake_text(proc, name, "");
	snprintf(name, sizeof(name), "%" PRIu32 "/maps", p->tgid);
	fake_text(proc, name, p->maps ? p->maps : "");
	if (p->exe)
		must(!symlink(p->exe, fake_path(proc, "%" PRIu32 "/exe", p->tgid)), "symlink");
}

/* Layout of the image: headers, notes and unwind tables, code, symbols and strings, sections. */
#define NOTE_AT	    0x200
#define LINK_AT	    0x280
#define HDR_AT	    0x300
#define FRAMES_AT   0x800
#define CODE_AT	    0x1000
#define SYMBOLS_AT  0x2000
#define STRINGS_AT  0x3000
#define SECTIONS_AT 0x3c00

static const char section_names[] = "\0.symtab\0.strtab\0.text\0.gnu_debuglink\0.shstrtab"
				    "\0.gnu_debugdata";

static size_t fake_unwind(const struct fake_elf *elf, uint8_t *image)
{
	/* CIE of 20 bytes: "zR" with pcrel|sdata4, then an FDE of 20 bytes a function. */
	static const uint8_t cie[24] = {20,  0,	  0, 0, 0,    0,  0, 0,	  1,
					'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
	uint8_t *hdr = image + HDR_AT, *frames = image + FRAMES_AT;
	int32_t relative = FRAMES_AT - (HDR_AT + 4);
	uint32_t cnt = (uint32_t)elf->functions_cnt;

	memcpy(frames, cie, sizeof(cie));
	memcpy(hdr, (uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	memcpy(hdr + 4, &relative, 4);
	memcpy(hdr + 8, &cnt, 4);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t at = (uint32_t)sizeof(cie) + i * 24;
		uint32_t fde[4] = {20, at + 4,
				   (uint32_t)(elf->functions[i][0] - (FRAMES_AT + at + 8)),
				   (uint32_t)elf->functions[i][1]};
		int32_t row[2] = {(int32_t)elf->functions[i][0] - HDR_AT,
				  (int32_t)(FRAMES_AT + at) - HDR_AT};

		memcpy(frames + at, fde, sizeof(fde));
		memcpy(hdr + 12 + i * 8, row, sizeof(row));
	}
	return 12 + cnt * 8;
}

static size_t fake_symbols(const struct fake_elf *elf, uint8_t *image)
{
	size_t at = 1;

	for (size_t i = 0; i < elf->symbols_cnt; i++) {
		const struct fake_symbol *s = &elf->symbols[i];
		Elf64_Sym sym = {.st_name = (Elf64_Word)at,
				 .st_info = s->info,
				 .st_shndx = 3,
				 .st_value = s->value,
				 .st_size = s->size};

		memcpy(image + SYMBOLS_AT + (i + 1) * sizeof(sym), &sym, sizeof(sym));
		strcpy((char *)image + STRINGS_AT + at, s->name);
		at += strlen(s->name) + 1;
	}
	return at;
}

void fake_elf(const struct fake_elf *elf, uint8_t *image)
{
	size_t link_crc_at = elf->debuglink ? (strlen(elf->debuglink) + 4) & ~(size_t)3 : 0;
	size_t hdr_bytes, strings;
	Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_shoff = SECTIONS_AT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 7,
			.e_shstrndx = 5};
	Elf64_Phdr ph[4] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000, .p_memsz = 0x1000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = CODE_AT,
		 .p_vaddr = CODE_AT,
		 .p_filesz = 0x1000,
		 .p_memsz = 0x1000},
	};
	Elf64_Shdr sh[7] = {0};

	memset(image, 0, FAKE_ELF_BYTES);
	strings = fake_symbols(elf, image);
	hdr_bytes = fake_unwind(elf, image);
	if (elf->build_id) {
		memcpy(image + NOTE_AT, (uint32_t[]){4, 20, NT_GNU_BUILD_ID}, 12);
		memcpy(image + NOTE_AT + 12, "GNU", 4);
		memset(image + NOTE_AT + 16, elf->build_id, 20);
		ph[2] = (Elf64_Phdr){
			.p_type = PT_NOTE, .p_offset = NOTE_AT, .p_vaddr = NOTE_AT, .p_filesz = 36};
	}
	if (elf->functions_cnt)
		ph[3] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				     .p_offset = HDR_AT,
				     .p_vaddr = HDR_AT,
				     .p_filesz = hdr_bytes};
	sh[1] = (Elf64_Shdr){.sh_name = 1,
			     .sh_type = SHT_SYMTAB,
			     .sh_offset = SYMBOLS_AT,
			     .sh_size = (elf->symbols_cnt + 1) * sizeof(Elf64_Sym),
			     .sh_link = 2,
			     .sh_entsize = sizeof(Elf64_Sym)};
	if (!elf->symbols_cnt)
		sh[1].sh_type = SHT_NULL;
	sh[2] = (Elf64_Shdr){
		.sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = STRINGS_AT, .sh_size = strings};
	sh[3] = (Elf64_Shdr){.sh_name = 17,
			     .sh_type = SHT_PROGBITS,
			     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			     .sh_addr = CODE_AT,
			     .sh_offset = CODE_AT,
			     .sh_size = 0x1000};
	sh[4] = (Elf64_Shdr){.sh_name = 23,
			     .sh_type = SHT_PROGBITS,
			     .sh_offset = LINK_AT,
			     .sh_size = elf->debuglink ? link_crc_at + 4 : 0};
	if (elf->debuglink) {
		strcpy((char *)image + LINK_AT, elf->debuglink);
		memcpy(image + LINK_AT + link_crc_at, &elf->debuglink_crc, 4);
	}
	sh[5] = (Elf64_Shdr){.sh_name = 38,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = SECTIONS_AT + sizeof(sh),
			     .sh_size = sizeof(section_names)};
	if (elf->debugdata_bytes)
		sh[6] = (Elf64_Shdr){.sh_name = 48,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = FAKE_ELF_BYTES,
				     .sh_size = elf->debugdata_bytes};
	memcpy(image, &e, sizeof(e));
	memcpy(image + sizeof(e), ph, sizeof(ph));
	memcpy(image + SECTIONS_AT, sh, sizeof(sh));
	memcpy(image + SECTIONS_AT + sizeof(sh), section_names, sizeof(section_names));
}

int fake_fd(const void *bytes, size_t len)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len, "memfd");
	return fd;
}

static void write_at(const struct fake_proc *proc, const char *name, const void *bytes, size_t len,
		     uint64_t at)
{
	int fd = open(fake_path(proc, "%s", name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0, name);
	must(pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len, name);
	close(fd);
}

void fake_process_memory(const struct fake_proc *proc, uint64_t address, const void *bytes,
			 size_t len)
{
	const uint64_t present = 1ull << 63, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	write_at(proc, "100/mem", bytes, len, address);
	for (uint64_t page = address / page_bytes; page <= (address + len) / page_bytes; page++)
		write_at(proc, "100/pagemap", &present, sizeof(present), page * sizeof(present));
}
