# SPDX-License-Identifier: GPL-2.0-or-later
# One Makefile; everything it makes is under $(BUILD). `make help` lists what can be asked of it.

BUILD   ?= build
# One spelling of it, whoever calls: the dependency files of `build` do not hold for `/tree/build`.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
PREFIX  ?= /usr/local
DESTDIR ?=
V       ?= 0

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
MUSL_CC ?= musl-gcc
CLANG   ?= clang
# bpftool lives in an sbin folder that may not be on PATH.
BPFTOOL ?= $(firstword $(shell PATH="$$PATH:/usr/sbin:/sbin" command -v bpftool) bpftool)
CLANG_FORMAT ?= clang-format
PROTOC_C ?= protoc-c
STRIP   ?= strip

VERSION := 0.1.0
ARCH    := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

ifeq ($(V),0)
Q       := @
say      = @printf '  %-8s %s\n' '$(1)' '$(2)'
MAKEFLAGS += --no-print-directory
else
Q       :=
say      = @:
endif

CPPFLAGS_ALL := -D_GNU_SOURCE -DHOTRUN_VERSION='"$(VERSION)"' -Iuser -I. -I$(BUILD)/gen $(CPPFLAGS)
CFLAGS  ?= -O2 -g
CFLAGS_ALL := -std=gnu17 -Wall -Wextra -Werror -fno-omit-frame-pointer -pthread $(CFLAGS)
LIBS_BPF  := -lbpf
LIBS_SCREEN := -lncursesw
# The archive of libmicrohttpd, without the TLS library behind it: user/watch/no_tls.c says why.
LIBS_HTTP := -l:libmicrohttpd.a -Wl,-u,gnutls_global_init
LIBS      := $(LIBS_HTTP) -lelf -lsqlite3 -lprotobuf-c -ljson-c -liberty -llzma -lz -lm -pthread
# SQLite could load extensions, which we never allow: without dlopen there is no linker warning, and no
# way in.
STATIC := -static -Wl,--wrap=dlopen,--defsym=__wrap_dlopen=abort
LIBS_STATIC := -lbpf -lncursesw -ltinfo $(LIBS_HTTP) -lelf -lsqlite3 -lprotobuf-c -ljson-c -liberty -llzma -lz -lm -ldl -pthread
SANITIZE  := -fsanitize=address,undefined -fno-sanitize-recover=undefined

# Rooms. kernel/ sees the skeleton, collect/ and commands/ wire the rooms; the others are pure or nearly
# so and make up the archive that the unit tests link.
ROOMS      := base model isolate parse opener process names store judge output export watch
SRC_ROOMS  := $(wildcard $(ROOMS:%=user/%/*.c))
SRC_TOP    := $(wildcard user/kernel/*.c user/collect/*.c user/commands/*.c)
SRC_PERFMAP := $(wildcard perfmap/*/*.c)
# The file that defines a shared map goes before those that declare it extern: libbpf 1.1's linker
# keeps offset 0 for an extern that it meets first.
SRC_BPF    := bpf/sched.bpf.c bpf/accounts.bpf.c bpf/sample.bpf.c bpf/net.bpf.c \
	bpf/sockets.bpf.c bpf/stands.bpf.c bpf/counts.bpf.c bpf/wakers.bpf.c bpf/switches.bpf.c
PAGE       := $(wildcard user/output/page/*) $(wildcard user/store/*.sql)

# What protobuf-c makes of the schemas of export/.
SCHEMAS    := $(patsubst user/export/schema/%.proto,$(BUILD)/gen/%.pb-c,$(wildcard user/export/schema/*.proto))
OBJ_ROOMS  := $(SRC_ROOMS:%.c=$(BUILD)/%.o) $(SCHEMAS:%=%.o)
OBJ_TOP    := $(SRC_TOP:%.c=$(BUILD)/%.o)
OBJ_PERFMAP := $(SRC_PERFMAP:%.c=$(BUILD)/%.o)
OBJ_BPF    := $(SRC_BPF:%.c=$(BUILD)/%.o)
ASAN_ROOMS := $(SRC_ROOMS:%.c=$(BUILD)/asan/%.o) $(SCHEMAS:$(BUILD)/%=$(BUILD)/asan/%.o)
ASAN_PERFMAP := $(SRC_PERFMAP:%.c=$(BUILD)/asan/%.o)
# Of kernel/ what takes apart what processes choose, and needs no skeleton: for the fuzz targets.
ASAN_KERNEL := $(BUILD)/asan/user/kernel/sideband_record.o $(BUILD)/asan/user/kernel/cgroup_tree.o
SKELETON   := $(BUILD)/gen/hotrun.skel.h

# One program a room, named after its folder, and one that drives the BPF programs.
UNIT_TESTS := $(patsubst tests/unit/%/,$(BUILD)/unit/%,$(wildcard tests/unit/*/))
OBJ_SUPPORT := $(patsubst %.c,$(BUILD)/asan/%.o,$(filter-out %/refuse_bpf.c,$(wildcard tests/support/*.c)))
BPF_TESTS  := $(BUILD)/bpf-tests/bpf
OBJ_BPF_TESTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bpf/*.c))
FUZZERS    := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCHES    := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
WORKLOADS  := $(patsubst tests/workloads/%.c,$(BUILD)/workloads/%,$(wildcard tests/workloads/*.c)) \
	$(BUILD)/workloads/refuse_bpf.so $(addprefix $(BUILD)/workloads/chain,-main -static -throw -deep -first.so -second.so \
	$(if $(shell command -v $(MUSL_CC)),-musl))

# Debian packages, by what needs them.
PKG_BUILD := build-essential clang llvm bpftool libbpf-dev libelf-dev libdw-dev libsqlite3-dev \
	libjson-c-dev libiberty-dev zlib1g-dev liblzma-dev libncurses-dev \
	libmicrohttpd-dev libprotobuf-c-dev protobuf-c-compiler
PKG_TEST  := $(PKG_BUILD) libcriterion-dev clang-format libclang-rt-14-dev chromium strace \
	sqlite3 wrk python3 python3-jsonschema python3-yaml systemd util-linux procps bpftrace tmux \
	xz-utils libcap2-bin musl-tools git openssl podman runc catatonit nginx-light nghttp2-client curl iproute2 prometheus \
	golang-go nodejs jq protobuf-compiler
# Of npm, with their versions, which the tests know: readers of exports.
NPM_TEST  := speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0
PKG_GUEST := $(PKG_TEST) qemu-system-x86 busybox-static
PKG_BENCH := $(PKG_TEST) linux-perf libbpf-tools

.DELETE_ON_ERROR:
.PHONY: all static image install uninstall run test unit bpf-tests live bench soak verdicts guests fuzz fuzz-short \
	check check-layers check-format check-schema check-page format deps deps-test deps-bench deps-guest clean help workloads

all: $(BUILD)/hotrun $(BUILD)/libperfmap.a

help:
	@echo 'make              build $(BUILD)/hotrun'
	@echo 'make run          install what is missing, build, and report a batch job that starves a web service'
	@echo 'make test         install what is missing, build, run all tests (root for the live ones)'
	@echo 'make static       $(BUILD)/hotrun-static, one file without shared libraries'
	@echo 'make image        container image $(IMAGE) by podman or docker, see deploy/README.md'
	@echo 'make install      program, unit, manual, completion below $$(DESTDIR)$$(PREFIX); PREFIX=/usr/local'
	@echo 'make check        style, layers, unit tests, BPF programs: before each commit'
	@echo 'make unit | bpf-tests | live | fuzz-short   parts of make test'
	@echo 'make fuzz         each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make bench        measure the budgets beside peers (perf, bpftrace)'
	@echo 'make guests       kernels 5.10, 6.1, 6.12, newest in emulated machines (downloads 130 MB)'
	@echo 'make verdicts     verdicts on programs whose state is known: the confusion matrix, 10 minutes'
	@echo 'make soak         long run under churn'
	@echo 'make check-layers | check-format | check-schema | check-page | format'
	@echo 'make clean        remove $(BUILD)'
	@echo 'V=1 shows the commands; CC, CLANG, BPFTOOL, CFLAGS can be set'

# --- tools -----------------------------------------------------------------------------------

$(BUILD)/.tools: Makefile
	@mkdir -p $(BUILD)
	@for t in "$(CC):gcc" "$(CLANG):clang" "$(BPFTOOL):bpftool" "$(PROTOC_C):protobuf-c-compiler"; do \
		tool=$${t%%:*}; command -v "$$tool" >/dev/null 2>&1 || { \
		echo "$$tool: not found; install the Debian package $${t##*:} (or: make deps)" >&2; exit 1; }; done
	@for h in bpf/bpf.h:libbpf-dev libelf.h:libelf-dev sqlite3.h:libsqlite3-dev \
		libiberty/demangle.h:libiberty-dev zlib.h:zlib1g-dev lzma.h:liblzma-dev \
		json-c/json.h:libjson-c-dev protobuf-c/protobuf-c.h:libprotobuf-c-dev curses.h:libncurses-dev microhttpd.h:libmicrohttpd-dev; do \
		echo "#include <$${h%%:*}>" | $(CC) -E -x c - >/dev/null 2>&1 || { \
		echo "$${h%%:*}: not found; install the Debian package $${h##*:} (or: make deps)" >&2; exit 1; }; done
	@touch $@

deps:
	@tests/support/install.sh $(PKG_BUILD)
deps-test:
	@tests/support/install.sh $(PKG_TEST)
	@BUILD=$(BUILD) tests/support/readers.sh $(NPM_TEST)
deps-guest:
	@tests/support/install.sh $(PKG_GUEST)
deps-bench:
	@tests/support/install.sh $(PKG_BENCH)

# --- BPF -------------------------------------------------------------------------------------

BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Ibpf -idirafter /usr/include/$(shell $(CC) -print-multiarch)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c | $(BUILD)/.tools
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/gen/hotrun.bpf.o: $(OBJ_BPF)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKELETON): $(BUILD)/gen/hotrun.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name hotrun_bpf > $@

# --- user side -------------------------------------------------------------------------------

$(BUILD)/%.o: %.c | $(BUILD)/.tools
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# With sanitizers, and the coverage that steers the fuzz targets: one build for these and the unit tests, by clang.
# Sanitizers tell files and lines, for which -g1 is enough. Not optimized, all this is compiled in a third of the time;
# what computes for seconds is. To fuzz for hours: make fuzz OPTIMIZE_ASAN=-O1, in a $(BUILD) of its own.
OPTIMIZE_ASAN := -O0
$(BUILD)/asan/user/base/%.o $(BUILD)/asan/user/judge/%.o: OPTIMIZE_ASAN := -O1
$(BUILD)/asan/tests/unit/parse/test_walk.o: OPTIMIZE_ASAN += -fomit-frame-pointer
CC_ASAN = $(CLANG) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(OPTIMIZE_ASAN) -g1 $(SANITIZE)
$(BUILD)/asan/%.o: %.c | $(BUILD)/.tools
	$(call say,CC.asan,$<)
	@mkdir -p $(@D)
	$(Q)$(CC_ASAN) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

# Compiled from their own text alone, wherever it lies.
$(BUILD)/gen/%.pb-c.c: user/export/schema/%.proto | $(BUILD)/.tools
	$(call say,PROTO,$<)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=user/export/schema --c_out=$(@D) $(<F)
$(SCHEMAS:%=%.o): $(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@
$(SCHEMAS:$(BUILD)/%=$(BUILD)/asan/%.o): $(BUILD)/asan/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(CC_ASAN) -fsanitize=fuzzer-no-link -c $< -o $@
$(patsubst %.c,$(BUILD)/%.o,$(wildcard user/export/*.c)) \
$(patsubst %.c,$(BUILD)/asan/%.o,$(wildcard user/export/*.c)): | $(SCHEMAS:%=%.c)

# perfmap/ must stand alone: libc only, no header of the other rooms.
$(OBJ_PERFMAP): CPPFLAGS_ALL := -D_GNU_SOURCE -I.
$(ASAN_PERFMAP): CPPFLAGS_ALL := -D_GNU_SOURCE -I.
$(OBJ_TOP): | $(SKELETON)
# Files that embed the page or the schema with .incbin.
$(BUILD)/user/output/usage_manual.o $(BUILD)/asan/user/output/usage_manual.o: user/output/manual.txt
$(BUILD)/user/output/flame.o $(BUILD)/asan/user/output/flame.o \
$(BUILD)/user/output/history_page.o $(BUILD)/asan/user/output/history_page.o \
$(BUILD)/user/store/schema.o $(BUILD)/asan/user/store/schema.o: $(PAGE)
$(BUILD)/user/commands/seccomp.o: deploy/kubernetes/seccomp.json

$(BUILD)/libperfmap.a: $(OBJ_PERFMAP)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/librooms.a: $(OBJ_ROOMS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/asan/librooms.a: $(ASAN_ROOMS) $(ASAN_PERFMAP) $(ASAN_KERNEL)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/hotrun: $(OBJ_TOP) $(BUILD)/librooms.a $(BUILD)/libperfmap.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS_BPF) $(LIBS_SCREEN) $(LIBS)

static: $(BUILD)/hotrun-static
# The same on a kernel that refuses programs (tests/support/refuse_bpf.h), for guests.
$(BUILD)/hotrun-refused: $(BUILD)/tests/support/refuse_bpf.o
$(BUILD)/hotrun-static $(BUILD)/hotrun-refused: $(OBJ_TOP) $(BUILD)/librooms.a $(BUILD)/libperfmap.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(STATIC) -o $@ $^ $(LIBS_STATIC)

# What the program says of its options; the other pages are those that the first one names.
$(BUILD)/man/hotrun.1: $(BUILD)/hotrun
	$(call say,MAN,$(@D))
	@mkdir -p $(@D)
	$(Q)$< help --manual >$@
	$(Q)for c in $$(sed -n 's/^\.BR hotrun\\-\([a-z]*\) (1)$$/\1/p' $@); do \
		$< help --manual $$c >$(@D)/hotrun-$$c.1 || exit 1; done

# Where man(1) and shells look for them.
MAN_DIR  := $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETION_bash := $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hotrun
COMPLETION_zsh  := $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hotrun
COMPLETION_fish := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hotrun.fish

UNITS := hotrun.service hotrun-snapshot.service
# Units are neither enabled nor started, and no configuration is laid where it would count.
install: $(BUILD)/hotrun $(BUILD)/man/hotrun.1
	install -D -m 0755 $(BUILD)/hotrun '$(DESTDIR)$(PREFIX)/bin/hotrun'
	install -d '$(DESTDIR)$(PREFIX)/lib/systemd/system' '$(DESTDIR)$(PREFIX)/share/doc/hotrun'
	$(Q)for unit in $(UNITS); do sed 's|@PREFIX@|$(PREFIX)|g' deploy/systemd/$$unit \
		>'$(DESTDIR)$(PREFIX)/lib/systemd/system/'$$unit || exit 1; done
	install -m 0644 README.md deploy/hotrun.schema.json deploy/systemd/hotrun.conf \
		'$(DESTDIR)$(PREFIX)/share/doc/hotrun/'
	install -d '$(MAN_DIR)' $(foreach s,bash zsh fish,'$(dir $(COMPLETION_$(s)))')
	install -m 0644 $(BUILD)/man/*.1 '$(MAN_DIR)/'
	$(foreach s,bash zsh fish,$(BUILD)/hotrun help --completion $(s) >'$(COMPLETION_$(s))' &&) :
uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/hotrun' $(UNITS:%='$(DESTDIR)$(PREFIX)/lib/systemd/system/%')
	rm -f '$(MAN_DIR)'/hotrun.1 '$(MAN_DIR)'/hotrun-*.1
	rm -f $(foreach s,bash zsh fish,'$(COMPLETION_$(s))')
	rm -rf '$(DESTDIR)$(PREFIX)/share/doc/hotrun'

# The image of deploy/README.md: podman or docker; `docker push` and the like are yours.
IMAGE     ?= hotrun:$(VERSION)
CONTAINER ?= $(firstword $(foreach t,podman docker,$(shell command -v $(t))) podman)
image: static
	@mkdir -p $(BUILD)/image
	$(Q)$(STRIP) -o $(BUILD)/image/hotrun $(BUILD)/hotrun-static
	$(Q)cp LICENSE $(BUILD)/image/
	$(call say,IMAGE,$(IMAGE))
	$(Q)$(CONTAINER) build -q -t '$(IMAGE)' -f deploy/Containerfile --build-arg VERSION=$(VERSION) \
		--build-arg REVISION=$$(git rev-parse --short HEAD 2>/dev/null || echo unknown) $(BUILD)/image

# Compiled on all CPUs, unless -j says on how many.
run:
	@echo 'make run: installs what the build needs, builds hotrun, and shows what it reports of two programs'
	@echo 'that run for 20 s: a web service, and a batch job that takes its CPU. Up to 3 minutes on a new machine.'
	@tests/support/install.sh $(PKG_BUILD)
	@$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) all $(addprefix $(BUILD)/workloads/,shop spinners)
	@BUILD=$(BUILD) tests/support/run.sh

# --- tests -----------------------------------------------------------------------------------

test: deps-test
	@BUILD=$(BUILD) tests/support/test.sh

$(BUILD)/asan/tests/%.o $(BUILD)/tests/%.o: CPPFLAGS_ALL += -Itests/support
$(OBJ_BPF_TESTS): | $(SKELETON)

define UNIT_OF_ROOM
$(BUILD)/unit/$(1): $(patsubst %.c,$(BUILD)/asan/%.o,$(wildcard tests/unit/$(1)/*.c))
endef
$(foreach room,$(notdir $(UNIT_TESTS)),$(eval $(call UNIT_OF_ROOM,$(room))))
# Above the rooms of the archive; the test stands in for the kernel's maps.
$(BUILD)/unit/collect: $(addprefix $(BUILD)/asan/user/,$(addprefix collect/,unwind_feed.o unwind_run.o \
	unwind_tables.o follow.o stand_take.o wait_choice.o hung.o process_facts.o stack_tables.o \
	newly_started.o lock_waits.o wait_names.o listeners.o) kernel/walk_piece.o)
# Each test runs the program anew, which takes half as long where nothing has to be relocated.
$(UNIT_TESTS): $(OBJ_SUPPORT) $(BUILD)/asan/librooms.a
	$(call say,UNIT,$@)
	@mkdir -p $(@D)
	$(Q)$(CC_ASAN) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcriterion $(LIBS)

$(BPF_TESTS): $(OBJ_BPF_TESTS) $(BUILD)/tests/support/walk_process.o $(BUILD)/tests/support/refuse_bpf.o \
		$(filter $(BUILD)/user/kernel/% $(BUILD)/user/collect/%,$(OBJ_TOP)) \
		$(BUILD)/librooms.a $(BUILD)/libperfmap.a
	$(call say,BPFTEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $^ -lcriterion $(LIBS_BPF) $(LIBS)

SUPPORT_fuzz_output := build_model
SUPPORT_fuzz_bundle := held_bytes
SUPPORT_fuzz_image := held_bytes
SUPPORT_fuzz_image_unwind := held_bytes
SUPPORT_fuzz_walk := walk
SUPPORT_fuzz_memory := fake_memory fake_image fake_names
SUPPORT_fuzz_large := fake_bundle fake_image fake_names held_bytes names_support
define FUZZER
$(BUILD)/fuzz/$(1): $(BUILD)/asan/tests/fuzz/$(1).o $(patsubst %,$(BUILD)/asan/tests/support/%.o,$(SUPPORT_$(1)))
endef
$(foreach f,$(notdir $(FUZZERS)),$(eval $(call FUZZER,$(f))))
$(FUZZERS): $(BUILD)/asan/librooms.a
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC_ASAN) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

SUPPORT_attack_files := tests/support/fake_names.c tests/support/fake_image.c tests/support/fake_memory.c
$(BUILD)/workloads/refuse_bpf.so: tests/support/refuse_bpf.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests/support $(CFLAGS_ALL) -fPIC -shared -o $@ $<
SUPPORT_feature_rows := -Iuser user/base/feature.c
$(BUILD)/workloads/feature_rows: user/base/feature.c user/base/feature.h
$(BUILD)/workloads/attack_files: $(SUPPORT_attack_files)
$(BUILD)/workloads/%: tests/workloads/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE -Itests/support -O2 -g -fno-omit-frame-pointer \
		-pthread -o $@ $< $(SUPPORT_$*)

# Call chains that are known, in code that keeps no frame pointers.
CHAIN := $(BUILD)/workloads/chain
CHAIN_CFLAGS := -Wall -Wextra -Werror -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
$(CHAIN)-%: tests/workloads/chain/main.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CHAIN_CC) -std=gnu17 $(CHAIN_CFLAGS) -o $@ $<
$(CHAIN)-main $(CHAIN)-static: CHAIN_CC := $(CC)
$(CHAIN)-musl: CHAIN_CC := $(MUSL_CC)
$(CHAIN)-static $(CHAIN)-musl: CHAIN_CFLAGS += -static -DWITHOUT_LIBRARIES
$(CHAIN)-first.so: CHAIN_CFLAGS += -DLIBRARY=first -DROOM=100
$(CHAIN)-second.so: CHAIN_CFLAGS += -DLIBRARY=second -DROOM=1000
$(CHAIN)-%.so: tests/workloads/chain/library.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(CHAIN_CFLAGS) -fPIC -shared -o $@ $<
$(CHAIN)-deep: tests/workloads/bench_deep.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(CHAIN_CFLAGS) -o $@ $<
$(CHAIN)-throw: tests/workloads/chain/throw.cpp
	$(call say,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CHAIN_CFLAGS) -o $@ $<
$(CHAIN)-main $(CHAIN)-static $(CHAIN)-musl $(CHAIN)-first.so $(CHAIN)-second.so: tests/workloads/chain/links.h

# Models made by hand, as the unit tests have them.
SUPPORT_metrics_host := tests/support/watched.c tests/support/build_model.c
$(BUILD)/bench/metrics_host: $(SUPPORT_metrics_host)
$(BUILD)/bench/empty_program: LIBS += $(LIBS_BPF)
$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/librooms.a $(BUILD)/libperfmap.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests/support $(CFLAGS_ALL) -o $@ $< $(SUPPORT_$*) $(BUILD)/librooms.a $(BUILD)/libperfmap.a $(LIBS)

workloads: $(WORKLOADS)
# Unit tests compute while those of the BPF programs wait.
check: check-format check-layers check-schema check-page
	@$(MAKE) $(UNIT_TESTS) $(BPF_TESTS) workloads
	@$(MAKE) -j2 -Otarget unit bpf-tests
unit: $(UNIT_TESTS)
	@BUILD=$(BUILD) tests/support/unit.sh $(UNIT_TESTS)
bpf-tests: $(BPF_TESTS) workloads
	@BUILD=$(BUILD) TEST_JOBS=1 tests/support/unit.sh $(BPF_TESTS)
live: all workloads $(BUILD)/bench/image_names $(BUILD)/bench/image_rows $(BUILD)/bench/fake_recorder \
		$(BUILD)/bench/metrics_host
	@BUILD=$(BUILD) tests/live/run.sh
guests: deps-guest
	@$(MAKE) all static $(BUILD)/hotrun-refused $(BUILD)/workloads/feature_rows
	@BUILD=$(BUILD) tests/live/guest/run.sh
fuzz: $(FUZZERS)
	@BUILD=$(BUILD) tests/fuzz/run.sh $${FUZZ_SECONDS:-60} $(FUZZERS)
fuzz-short: $(FUZZERS)
	@BUILD=$(BUILD) tests/fuzz/run.sh $${FUZZ_SECONDS:-5} $(FUZZERS)
bench: deps-bench
	@$(MAKE) all workloads $(BENCHES)
	@BUILD=$(BUILD) tests/bench/run.sh
verdicts: deps-test
	@$(MAKE) all workloads
	@BUILD=$(BUILD) tests/live/verdicts.sh
soak: all workloads
	@BUILD=$(BUILD) tests/bench/soak.sh

check-layers:
	@tests/support/check_layers.sh
# The modules of the flame graph page, without a browser.
check-page:
	@command -v node >/dev/null || { echo "node: not found; install the Debian package nodejs (or: make deps-test)" >&2; exit 1; }
	@node --test tests/page/ >$(BUILD)/page-test.log 2>&1 || { cat $(BUILD)/page-test.log; exit 1; }
check-schema:
	@tests/support/check_schema.py tests/golden/*.json
check-format:
	@git ls-files '*.c' '*.h' | xargs -P "$$(nproc)" -n 100 $(CLANG_FORMAT) --dry-run --Werror
	@git ls-files '*.c' '*.h' | xargs python3 tests/support/check_width.py
format:
	@git ls-files '*.c' '*.h' | xargs $(CLANG_FORMAT) -i

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
