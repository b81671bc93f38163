-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- The format of a hotrun capture, version 1: one SQLite database, UTF-8, rollback journal.
--
--   header  application_id = 0x686f7472 ("hotr"), user_version = version of the schema (1)
--
-- Conventions
--   *_ns        nanoseconds. Without another word: CLOCK_MONOTONIC of the recorded host; 0 where a
--               column says so. Add slice.wall_offset_ns of the same slice for UTC (Unix time).
--               "boottime" is CLOCK_BOOTTIME, which /proc/PID/stat field 22 counts too.
--   id          row number from 0 without gaps. A column named as a table holds an id of that table;
--               NULL = none, or the kernel where the column says so.
--   64 bits     addresses, keys, offsets are unsigned; SQLite's integers are signed, so values from
--               2^63 on look negative: printf('%x', column) shows them right.
--   text        bytes of watched programs as they were, at most 16,384, maybe not valid UTF-8, and
--               with whatever control bytes their authors liked: escape before showing.
--   addresses   of kernel code are relative to the kernel's _text.
--   numbers of kinds, reasons, causes and flag bits are never reused.
--
-- How versions evolve: new tables, new columns at the end of a table, and new numbers (sample kinds,
-- reasons, causes, flags) leave user_version as it is: a reader names the columns it wants, skips
-- samples of kinds it does not know, and shows unknown reasons and causes as such. Whatever an older
-- reader would understand wrongly raises user_version, and older readers then refuse the file. What
-- the first captures lack is marked "later"; a reader takes 0, "" or NULL for such a column and no
-- rows for such a table, and shows their figures as not known.
--
-- A recording in progress commits once a slice. After a killed recorder the file may have a journal
-- beside it (NAME-journal): keep both together, any SQLite program completes the roll-back.
--
-- Beside these tables a capture has the texts of its numbers, and views: views.sql.

-- From here on it is what columns.c says: HOTRUN_RECORD=1 build/unit/store --filter 'schema/*'
-- writes it anew.

-- Who was recorded, when, how; one row.
CREATE TABLE host (
	id INTEGER PRIMARY KEY CHECK (id = 0),
	name TEXT NOT NULL,
	kernel TEXT NOT NULL,            -- uname -r
	machine TEXT NOT NULL,           -- uname -m
	version TEXT NOT NULL,           -- of the hotrun that recorded
	event TEXT NOT NULL,             -- what a sampling tick counts: "cpu-clock"
	filter TEXT NOT NULL,            -- "" or what -p and --cgroup said
	command TEXT NOT NULL,           -- first word of record -- CMD, "" without
	cpus_online INTEGER NOT NULL,
	cpus_possible INTEGER NOT NULL,
	sample_hz INTEGER NOT NULL,      -- ticks a second of CPU time on each CPU
	max_stack INTEGER NOT NULL,      -- kernel.perf_event_max_stack: deeper stacks are cut
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,         -- of the last slice in the file
	complete INTEGER NOT NULL,       -- 1 = ended on purpose, 0 = killed, disk full or still
	                                 -- running
	off INTEGER NOT NULL,            -- later: what this capture does not have, whose columns
	                                 -- are 0 and say nothing: a sum of 1 waits, 2 cgroups and
	                                 -- throttling (kernel without group scheduling), 4
	                                 -- pressure, 8 run queues, 16 behind_own_ns, 32 limits of
	                                 -- cgroups, 64 requests, 256 end of stacks (user stacks
	                                 -- were walked along frame pointers), 128 switches (CPU
	                                 -- times and waits are the kernel's own then, idle times to
	                                 -- a clock tick; uninterruptible_ns, run_delay and
	                                 -- delay_max_ns are not known), 512 where threads stood
	                                 -- that did not run
	taken TEXT NOT NULL              -- later: why hotrun watch took it by itself: who, since
	                                 -- when, and what was asked before; "" = it did not
);

-- Stretches of about one second; the books below are kept by slice.
CREATE TABLE slice (
	id INTEGER PRIMARY KEY,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	wall_offset_ns INTEGER NOT NULL, -- CLOCK_REALTIME - CLOCK_MONOTONIC at its start
	pressure_ns INTEGER NOT NULL,    -- later: time in which somebody waited for a CPU (PSI
	                                 -- "some")
	sample_every INTEGER NOT NULL,   -- later: ticks came at host.sample_hz / so many; 0 = 1
	quiet INTEGER NOT NULL,          -- later: 1 = the quiet gear: nobody looked at switches.
	                                 -- CPU times and waits are the kernel's own, idle times to
	                                 -- a clock tick; behind_own_ns, uninterruptible_ns,
	                                 -- run_delay and delay_max_ns are not known
	one_followed_of INTEGER NOT NULL, -- later: connections of which one was followed at its
	                                 -- end, for requests, at the ports where fewest were: the
	                                 -- others are estimated by it; 0 and 1 = all were
	followed INTEGER NOT NULL,       -- later: connections that were followed at ports where not
	                                 -- all were, as of the next column
	sockets_age_ns INTEGER NOT NULL, -- later: how long before its end sockets were looked at
	                                 -- last, for what stood unanswered then
	looks INTEGER NOT NULL           -- later: at threads that do not run, for stand.blocked_ns
);

-- Groups of the cpu controller that threads ran in, and those above them. Later.
CREATE TABLE cgroup (
	id INTEGER PRIMARY KEY,
	key INTEGER NOT NULL,            -- the kernel's number of it (inode of its folder), as
	                                 -- process.cgroup_id
	parent INTEGER,                  -- cgroup above it, NULL = the root, unknown, or too deep
	path TEXT NOT NULL,              -- below the controller's mount, "/" = root, "" = gone too
	                                 -- soon
	quota_ns INTEGER NOT NULL,       -- CPU time it may use in each period, 0 = no limit of its
	                                 -- own
	period_ns INTEGER NOT NULL
);

-- One incarnation of a process: (tgid, start_ns) is its identity, pids are reused.
CREATE TABLE process (
	id INTEGER PRIMARY KEY,
	tgid INTEGER NOT NULL,           -- pid as the host sees it
	ns_pid INTEGER NOT NULL,         -- pid in its innermost namespace, 0 = unknown
	parent_tgid INTEGER NOT NULL,
	uid INTEGER,                     -- later: real user id, NULL = not known
	flags INTEGER NOT NULL,          -- a sum of 1 kernel thread, 2 runs CoreCLR, 4 /proc was
	                                 -- read, 8 ended before that, 16 hotrun itself, 32 selected
	                                 -- (-p, --cgroup), 64 has a sample, 128 its sockets were
	                                 -- read, which is done where requests are not measured, 256
	                                 -- listens on a TCP port
	start_ns INTEGER NOT NULL,       -- boottime
	start_exact INTEGER NOT NULL,    -- 0 = start_ns is a guess from the fork event
	born_ns INTEGER NOT NULL,        -- monotonic
	exit_ns INTEGER NOT NULL,        -- 0 = alive at the last look
	cgroup_id INTEGER NOT NULL,      -- of the cpu controller
	comm TEXT NOT NULL,
	exe TEXT NOT NULL,               -- path as the process sees it, "" = unknown
	name TEXT NOT NULL,              -- for people: entry assembly, else comm
	unit TEXT NOT NULL,              -- systemd unit, "" = none
	container TEXT NOT NULL,         -- short id, "" = none
	cgroup TEXT NOT NULL,            -- path, "" = unknown
	perf_map INTEGER NOT NULL,       -- reason.id: 0 = perf map in use, else why there is none
	container_id TEXT NOT NULL,      -- later: whole, "" = none or not known, as those to
	                                 -- runtime
	container_name TEXT NOT NULL,    -- later: as the pod, or the engine, names it
	pod TEXT NOT NULL,               -- later
	pod_uid TEXT NOT NULL,           -- later
	namespace TEXT NOT NULL,         -- later
	qos TEXT NOT NULL,               -- later: guaranteed, burstable, besteffort
	runtime TEXT NOT NULL,           -- later: containerd, cri-o, docker, podman
	naming_cpu_ns INTEGER NOT NULL,  -- later: CPU time of workers that naming its code cost
	map_unread_bytes INTEGER NOT NULL, -- later: of its perf map, that were not followed for
	                                 -- their cost
	names_aside_ns INTEGER NOT NULL, -- later: when its names were set aside for what they cost
	                                 -- others, 0 = they were not
	files_refused INTEGER NOT NULL,  -- later: too costly to read
	requests_refused INTEGER NOT NULL, -- later: in no row of service: beyond what a process, or
	                                 -- its cgroup, may have of endpoints
	mappings_refused INTEGER NOT NULL -- later: in no row of mapping: beyond what a process, or
	                                 -- its cgroup, may make in a second
);

-- One incarnation of a thread; its figures since the recording's start, those of slices are in
-- account.
CREATE TABLE thread (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL,
	tid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,       -- boottime
	exit_ns INTEGER NOT NULL,        -- 0 = alive at the last look
	comm TEXT NOT NULL,
	state TEXT NOT NULL,             -- at the last look, a letter as in /proc/PID/stat; "" =
	                                 -- unknown
	baseline INTEGER NOT NULL,       -- 1 = the figures below count from a first reading, else
	                                 -- from the recording's start
	on_cpu_ns INTEGER NOT NULL,      -- by context switches
	voluntary INTEGER NOT NULL,      -- switches: gave the CPU up
	involuntary INTEGER NOT NULL,    -- switches: was preempted
	waited_ns INTEGER NOT NULL,      -- later: run delay: runnable, not running, not throttled
	behind_own_ns INTEGER NOT NULL,  -- later: of waited_ns: while threads of its own process
	                                 -- ran on that CPU
	throttled_ns INTEGER NOT NULL,   -- later: runnable, but the quota of its cgroup was used up
	uninterruptible_ns INTEGER NOT NULL, -- later: state D
	migrations INTEGER NOT NULL,     -- later: to another CPU
	delay_max_ns INTEGER NOT NULL,   -- later: the longest run delay, one that went on at the
	                                 -- end included
	cpus_allowed INTEGER NOT NULL,   -- later: CPUs in its affinity mask, 0 = unknown
	policy INTEGER NOT NULL,         -- later: 0 normal, 1 FIFO, 2 round robin, 3 batch, 5 idle,
	                                 -- 6 deadline
	nice INTEGER NOT NULL,           -- later: -20 to 19
	rt_priority INTEGER NOT NULL     -- later: 1 to 99 of policies 1 and 2, else 0
);

-- What a process serves through one listening socket. Later.
CREATE TABLE endpoint (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL,
	listener INTEGER NOT NULL,       -- the kernel's number of the socket; processes may share
	                                 -- one
	address TEXT NOT NULL,           -- that it listens at, "" = unknown
	port INTEGER NOT NULL,
	protocols INTEGER NOT NULL,      -- what connections began with: a sum of 1 HTTP/1, 2
	                                 -- HTTP/2, 4 TLS, 8 other, 16 WebSocket
	netns INTEGER NOT NULL,          -- network namespace, inode
	slow_ns INTEGER NOT NULL         -- T: a request is slow when its answer takes longer
);

-- Files that code was mapped from. The same path with another inode or build id is another row.
CREATE TABLE module (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL,              -- as the process named it
	dev INTEGER NOT NULL,            -- makedev(3), 0 = unknown
	inode INTEGER NOT NULL,          -- 0 = unknown
	build_id BLOB NOT NULL           -- up to 20 bytes, empty = unknown; of a precompiled .NET
	                                 -- image that was read its module version id (16 bytes)
);

-- Executable memory of a process over time, numbered in the order in which it was learnt.
CREATE TABLE mapping (
	process INTEGER NOT NULL,
	number INTEGER NOT NULL,         -- from 0 in each process
	module INTEGER,
	kind INTEGER NOT NULL,           -- 1 file, 2 anonymous, 3 JIT code, 4 vdso, 5 vsyscall
	start INTEGER NOT NULL,          -- address
	"end" INTEGER NOT NULL,          -- address, exclusive
	file_offset INTEGER NOT NULL,    -- bytes, of start
	from_ns INTEGER NOT NULL,        -- 0 = was there at first sight
	to_ns INTEGER NOT NULL,          -- exclusive, 0 = still there
	PRIMARY KEY (process, number)
) WITHOUT ROWID;

-- Each distinct stack once. View frame shows the addresses one a row.
CREATE TABLE stack (
	id INTEGER PRIMARY KEY,
	key INTEGER NOT NULL,            -- 64-bit hash by which samples name it, never 0
	process INTEGER,                 -- NULL = kernel stack
	flags INTEGER NOT NULL,          -- a sum of 1 kernel, 2 deeper than is walked (root
	                                 -- missing), 4 callers of some frame may be missing, 256
	                                 -- does not reach the root of its thread (broken)
	broken_module INTEGER,           -- module in which the walk broke
	"end" INTEGER NOT NULL,          -- later: how the walk ended: 0 not told: along frame
	                                 -- pointers, 1 at the root, 2 no unwind data in the file, 3
	                                 -- unwind table not there yet, 4 unwind data that rows
	                                 -- cannot express, 5 stack memory not readable, 6 unwind
	                                 -- data that leads astray, 7 deeper than is walked, 8 no
	                                 -- room for the unwind table, 9 code made at run time,
	                                 -- without a frame
	left_out INTEGER NOT NULL,       -- later: frames left out in the middle, before the last
	                                 -- 128 of frames
	frames BLOB NOT NULL             -- addresses, leaf first, 8 bytes each, little-endian;
	                                 -- callers are return addresses. At most 2,048. Of user
	                                 -- stacks the highest bit alone of the highest two says
	                                 -- that callers of that frame may be missing
);

-- What code is called. reason = 0: it has a name; else name is "module+0xoffset" or the like.
CREATE TABLE symbol (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,              -- for people: Namespace.Type.Method, or demangled
	raw TEXT,                        -- as its source had it; NULL = equal to name
	module TEXT NOT NULL,            -- assembly, file name, "[kernel]" or a kernel module
	kind INTEGER NOT NULL,           -- 0 unknown, 1 kernel, 2 native, 3 JIT, 4 runtime stub, 5
	                                 -- precompiled .NET image, 6 a note instead of code
	reason INTEGER NOT NULL,         -- reason.id
	application INTEGER NOT NULL     -- 1 = code of the service, 0 = runtime, framework,
	                                 -- libraries
);

-- What an address of a process means from a moment on. For a sample, the row with the newest
-- from_ns that is not after the sample counts, else the oldest. Look-up address of a frame: the
-- address itself for the leaf, one less for callers.
CREATE TABLE location (
	id INTEGER PRIMARY KEY,
	process INTEGER,                 -- NULL = kernel
	symbol INTEGER NOT NULL,
	address INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,        -- 0 = from the beginning
	older INTEGER,                   -- location of the same address with an earlier from_ns
	flags INTEGER NOT NULL,          -- a sum of 1 the name was first seen after the sample, 2
	                                 -- the name is from the memory of its process
	tier TEXT NOT NULL               -- of JIT code; PreJIT = precompiled; "" = none known
);

-- One sampling tick that hit a thread.
CREATE TABLE sample (
	id INTEGER PRIMARY KEY,
	time_ns INTEGER NOT NULL,
	thread INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	kind INTEGER NOT NULL,           -- 1 on CPU
	flags INTEGER NOT NULL,          -- a sum of 1 kernel thread, 2 user stack unreadable, 4
	                                 -- kernel stack unreadable, 16 outside of what was
	                                 -- selected: without stacks
	waiters INTEGER,                 -- runnable threads that waited for this CPU; NULL =
	                                 -- unknown
	kernel_stack INTEGER NOT NULL,   -- stack.key, 0 = none
	user_stack INTEGER NOT NULL,     -- stack.key, 0 = none. A key without a stack: it was lost
	weight INTEGER NOT NULL          -- later: ticks of host.sample_hz that it stands for; 0 = 1
);

-- What each thread did in each slice, exact, by context switches; no row = nothing.
CREATE TABLE account (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	thread INTEGER NOT NULL,
	on_cpu_ns INTEGER NOT NULL,      -- by context switches
	voluntary INTEGER NOT NULL,      -- switches: gave the CPU up
	involuntary INTEGER NOT NULL,    -- switches: was preempted
	waited_ns INTEGER NOT NULL,      -- later: run delay: runnable, not running, not throttled
	behind_own_ns INTEGER NOT NULL,  -- later: of waited_ns: while threads of its own process
	                                 -- ran on that CPU
	throttled_ns INTEGER NOT NULL,   -- later: runnable, but the quota of its cgroup was used up
	uninterruptible_ns INTEGER NOT NULL, -- later: state D
	migrations INTEGER NOT NULL,     -- later: to another CPU
	cgroup INTEGER                   -- later: that it was in at the end of the slice, NULL =
	                                 -- unknown
);

-- Run delays of each thread that ended in a slice, as a histogram by powers of two. Later.
CREATE TABLE run_delay (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	thread INTEGER NOT NULL,
	slot INTEGER NOT NULL,           -- 0: under 2 us; 1 to 24: from 2^slot us to under twice
	                                 -- that; 25: longer
	count INTEGER NOT NULL
);

-- Who ran while others waited for that CPU, by samples. Later.
CREATE TABLE contention (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	runner INTEGER NOT NULL,         -- process
	waiter INTEGER,                  -- process, may be the runner; NULL = could not be told
	weight INTEGER NOT NULL          -- waiting threads summed over the samples, in 1/1000
);

-- What cpu.stat says of a cgroup with a limit of its own, by slice. Later.
CREATE TABLE throttle (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	cgroup INTEGER NOT NULL,
	periods INTEGER NOT NULL,        -- in which it was active
	throttled_periods INTEGER NOT NULL, -- of these, in which its quota was used up
	throttled_ns INTEGER NOT NULL    -- summed over CPUs
);

-- Requests of each endpoint in each slice; no row = nothing happened and none stood unanswered. A
-- request begins when data arrives on an accepted connection that has none unanswered, and is
-- answered by the first byte handed to the kernel after it. Later.
CREATE TABLE service (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	endpoint INTEGER NOT NULL,
	connections INTEGER NOT NULL,    -- that began to speak
	begun INTEGER NOT NULL,          -- requests
	answered INTEGER NOT NULL,
	abandoned INTEGER NOT NULL,      -- the connection ended before an answer
	slow INTEGER NOT NULL,           -- of answered: after more than endpoint.slow_ns,
	very_slow INTEGER NOT NULL,      -- after more than four times that
	time_ns INTEGER NOT NULL,        -- of answered, to the first byte, summed
	joined INTEGER NOT NULL,         -- arrivals of data while a request was unanswered
	pushed INTEGER NOT NULL,         -- sends while none was: later parts of an answer, messages
	received_bytes INTEGER NOT NULL,
	sent_bytes INTEGER NOT NULL,
	refused INTEGER NOT NULL,        -- connections that the listening socket refused
	time_max_ns INTEGER NOT NULL,    -- longest of answered, or the end of its slot
	open INTEGER NOT NULL,           -- requests without an answer yet; this and those below: as
	                                 -- it stood at the end of the slice
	late INTEGER NOT NULL,           -- of open: for longer than endpoint.slow_ns,
	stuck INTEGER NOT NULL,          -- for longer than 10 s
	oldest_ns INTEGER NOT NULL,      -- age of the oldest, 0 = none
	queued INTEGER NOT NULL,         -- connections to be accepted
	backlog INTEGER NOT NULL,        -- and how many may be
	unsure INTEGER NOT NULL,         -- unanswered, but perhaps of a protocol that does not
	                                 -- answer everything (logs, queues); not among those open
	incomplete INTEGER NOT NULL,     -- connections on which the header of a request has begun
	                                 -- and not ended: no requests
	unseen INTEGER NOT NULL          -- of answered and abandoned: not seen, counted for
	                                 -- connections that were not followed. Where there are any,
	                                 -- the figures from connections to sent_bytes are estimates
);

-- Times to the first byte of requests answered in a slice, as a histogram. Later.
CREATE TABLE response (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	endpoint INTEGER NOT NULL,
	slot INTEGER NOT NULL,           -- 0 to 3: so many us; then four of equal width for each
	                                 -- power of two: 4 + 4 * k + i begins at 2^k * (4 + i) us;
	                                 -- 103: longer
	count INTEGER NOT NULL
);

-- The operator's own number for a process at the end of a slice (record --service-signal); no row =
-- it gave none then. Later.
CREATE TABLE signal (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	process INTEGER NOT NULL,
	value_ppm INTEGER NOT NULL       -- share that is slow or fails, in millionths
);

-- Services that answered worse than they are used to at that rate of requests, over the minute
-- before the end of a slice (hotrun watch). Later.
CREATE TABLE past (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	process INTEGER NOT NULL,
	hours INTEGER NOT NULL,          -- that are known of it at about this rate of requests
	median_ns INTEGER NOT NULL,      -- to the first answer byte
	usual_ns INTEGER NOT NULL,       -- upper end of what its median usually is
	slow_ppm INTEGER NOT NULL,       -- share that was slow, in millionths
	usual_ppm INTEGER NOT NULL       -- upper end of what that usually is
);

-- Where threads stood that did not run: a row a thread and wait in a slice. Threads are looked at
-- some times a second, at random moments; some stand for others. Later.
CREATE TABLE stand (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	thread INTEGER NOT NULL,
	time_ns INTEGER NOT NULL,        -- of the last look at it in the slice
	age_ns INTEGER NOT NULL,         -- for so long in its state then, -1 = unknown
	blocked_ns INTEGER NOT NULL,     -- blocked time of the slice that it stands for; 0 = it is
	                                 -- here for the next column alone
	now INTEGER NOT NULL,            -- 1 = of a look at every thread: where each stood at that
	                                 -- moment
	state TEXT NOT NULL,             -- a letter as in /proc/PID/stat
	flags INTEGER NOT NULL,          -- a sum of 1 kernel thread, 2 it was on a CPU, 4 it ran
	                                 -- while it was read, 8 user stack not readable, 16 a
	                                 -- 32-bit task, 32 no user registers, 64 deeper than is
	                                 -- read, 128 waits for a futex, 512 holder is of a monitor
	                                 -- of .NET, 1024 holder is of a lock object of .NET; with
	                                 -- 512 of a monitor, maybe
	call INTEGER NOT NULL,           -- number of the system call that it was in, -1 = none
	holder INTEGER NOT NULL,         -- tid of who held the mutex or monitor it waited for, 0 =
	                                 -- not known
	sampled INTEGER NOT NULL,        -- 1 = it ran: its stack is that of its last sample
	kernel_stack INTEGER NOT NULL,   -- stack.key, 0 = none
	user_stack INTEGER NOT NULL      -- stack.key, 0 = none
);

-- Who ended waits that stand tells of (record --wakers): a row a wakeup. Not all were kept. Later.
CREATE TABLE waker (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	woken INTEGER NOT NULL,          -- thread
	thread INTEGER NOT NULL,         -- that ran on the CPU which woke it; of an idle one: woken
	time_ns INTEGER NOT NULL,
	blocked_ns INTEGER NOT NULL,     -- that the wait stood for, of all slices
	idle INTEGER NOT NULL,           -- 1 = that CPU was idle: an interrupt did it
	kernel_stack INTEGER NOT NULL,   -- stack.key, 0 = none
	user_stack INTEGER NOT NULL,     -- stack.key, 0 = none
	wait_kernel INTEGER NOT NULL,    -- as stand.kernel_stack of the wait
	wait_user INTEGER NOT NULL       -- as stand.user_stack of the wait
);

-- Single switches and wakeups of the last seconds (record --switches), by their times. Later.
CREATE TABLE switch (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	time_ns INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	kind INTEGER NOT NULL,           -- 1 a thread comes to run on the CPU, 2 a thread is woken
	                                 -- by what runs on the CPU
	thread INTEGER,                  -- who comes or is woken; NULL = the CPU is idle from here
	                                 -- on
	other INTEGER,                   -- thread that leaves or wakes; NULL = none, or not known
	state TEXT NOT NULL,             -- of who leaves, a letter as in /proc/PID/stat
	flags INTEGER NOT NULL,          -- a sum of 1 a wakeup by an interrupt or softirq, not by
	                                 -- who runs, 2 who leaves could run on, 64 no switch: who
	                                 -- was there as the window begins, 128 not known who comes
	irq_ns INTEGER NOT NULL,         -- of the turn that ends: in handlers of device interrupts
	softirq_ns INTEGER NOT NULL      -- the same, in softirqs
);

-- Books of each CPU in each slice. elapsed = idle + accounted + unaccounted.
CREATE TABLE cpu (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	cpu INTEGER NOT NULL,
	elapsed_ns INTEGER NOT NULL,
	idle_ns INTEGER NOT NULL,
	accounted_ns INTEGER NOT NULL,   -- is in rows of account
	unaccounted_ns INTEGER NOT NULL, -- ran in threads without an account
	steal_ns INTEGER NOT NULL,       -- taken by the hypervisor, from /proc/stat
	switches INTEGER NOT NULL,
	ticks_taken INTEGER NOT NULL,    -- sampling ticks that hit a thread
	ticks_idle INTEGER NOT NULL,
	ticks_filtered INTEGER NOT NULL, -- of those taken: outside -p and --cgroup, without a stack
	queue_0 INTEGER NOT NULL,        -- later: of ticks_taken, by the number of threads that
	                                 -- waited for this CPU then
	queue_1 INTEGER NOT NULL,        -- later
	queue_2 INTEGER NOT NULL,        -- later
	queue_3 INTEGER NOT NULL,        -- later
	queue_4 INTEGER NOT NULL,        -- later
	queue_5 INTEGER NOT NULL,        -- later
	queue_6 INTEGER NOT NULL,        -- later
	queue_7 INTEGER NOT NULL,        -- later
	queue_8 INTEGER NOT NULL,        -- later
	queue_9 INTEGER NOT NULL,        -- later
	queue_10 INTEGER NOT NULL,       -- later: 10 and more
	queue_unknown INTEGER NOT NULL   -- later
);

-- What the recorder could not do, by cause.
CREATE TABLE loss (
	id INTEGER PRIMARY KEY,
	slice INTEGER NOT NULL,
	cause INTEGER NOT NULL,          -- loss_cause.id
	count INTEGER NOT NULL
);

-- What hotrun could do on that host, and why not. Later.
CREATE TABLE feature (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	status INTEGER NOT NULL,         -- 0 not asked for, 1 on, 2 off, 3 off: the kernel refuses
	                                 -- one of its BPF programs or maps, 4 off: a feature that
	                                 -- it needs is off
	why TEXT NOT NULL                -- it is off; "" = it is not
);

-- When names were looked up again in this capture (hotrun rename). Later.
CREATE TABLE renaming (
	id INTEGER PRIMARY KEY,
	time_s INTEGER NOT NULL,         -- Unix time
	version TEXT NOT NULL,           -- of the hotrun that did it
	named INTEGER NOT NULL           -- locations that got a name
);
