-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- What a capture has for people who ask it by SQL. hotrun itself reads none of it.

-- Texts of numbers in the tables, as the recording version had them.
CREATE TABLE reason (id INTEGER PRIMARY KEY, word TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE loss_cause (id INTEGER PRIMARY KEY, word TEXT NOT NULL, text TEXT NOT NULL);

-- CPU time (exact) and samples of each process, the busiest first.
CREATE VIEW process_cpu AS
SELECT p.id AS process, p.tgid, p.name, t.on_cpu_ns / 1e9 AS on_cpu_s,
	coalesce(s.samples, 0) AS samples, t.threads
FROM process p
JOIN (SELECT process, sum(on_cpu_ns) AS on_cpu_ns, count(*) AS threads
	FROM thread GROUP BY process) t ON t.process = p.id
LEFT JOIN (SELECT thread.process AS process, sum(max(sample.weight, 1)) AS samples
	FROM sample JOIN thread ON thread.id = sample.thread
	WHERE sample.kind = 1 GROUP BY thread.process) s ON s.process = p.id
ORDER BY t.on_cpu_ns DESC;

-- Where the time of each process went that it wanted a CPU, the longest wait first. Behind whom was
-- waited is told by slices of the full gear, which stand for those of the quiet one; NULL = by none.
CREATE VIEW process_wait AS
WITH o(process, own_ns, seen_ns) AS (
	SELECT t.process, sum(a.behind_own_ns), sum(a.waited_ns)
	FROM account a JOIN slice s ON s.id = a.slice JOIN thread t ON t.id = a.thread
	WHERE NOT s.quiet GROUP BY t.process),
w(process, tgid, name, on_cpu_ns, waited_ns, throttled_ns, delay_max_ns) AS (
	SELECT p.id, p.tgid, p.name, sum(t.on_cpu_ns), sum(t.waited_ns), sum(t.throttled_ns),
		max(t.delay_max_ns)
	FROM process p JOIN thread t ON t.process = p.id GROUP BY p.id),
b AS (SELECT w.*, CASE w.waited_ns WHEN 0 THEN 0.0
		ELSE o.own_ns * max(1.0 * w.waited_ns / nullif(o.seen_ns, 0), 1.0) END AS own_ns
	FROM w LEFT JOIN o ON o.process = w.process)
SELECT process, tgid, name, on_cpu_ns / 1e9 AS ran_s, waited_ns / 1e9 AS waited_s,
	own_ns / 1e9 AS behind_own_s, (waited_ns - own_ns) / 1e9 AS behind_others_s,
	throttled_ns / 1e9 AS throttled_s, delay_max_ns / 1e6 AS delay_max_ms
FROM b ORDER BY waited_ns + throttled_ns DESC;

-- Run delays of each process by slot: below how many microseconds (NULL = no end), and how many.
CREATE VIEW process_run_delay AS
SELECT p.id AS process, p.tgid, p.name, d.slot,
	CASE WHEN d.slot < 25 THEN 1 << (d.slot + 1) END AS below_us,
	sum(d.count) AS delays
FROM run_delay d JOIN thread t ON t.id = d.thread JOIN process p ON p.id = t.process
GROUP BY p.id, d.slot ORDER BY p.id, d.slot;

-- Who ran while who waited, the most first; one tick is one thread that waited at one sample.
CREATE VIEW process_contention AS
SELECT r.tgid AS runner_tgid, r.name AS runner, w.tgid AS waiter_tgid, w.name AS waiter,
	sum(c.weight) / 1000.0 AS waiting_ticks
FROM contention c JOIN process r ON r.id = c.runner LEFT JOIN process w ON w.id = c.waiter
GROUP BY c.runner, c.waiter ORDER BY waiting_ticks DESC;

-- How each endpoint served, most requests first.
CREATE VIEW process_request AS
SELECT p.id AS process, p.tgid, p.name, e.address, e.port, sum(s.begun) AS begun,
	sum(s.answered) AS answered, sum(s.slow) AS slow, e.slow_ns / 1e6 AS slow_ms,
	sum(s.time_ns) / 1e6 / nullif(sum(s.answered), 0) AS mean_ms,
	max(s.time_max_ns) / 1e6 AS max_ms, max(s.stuck) AS stuck_most, sum(s.refused) AS refused
FROM service s JOIN endpoint e ON e.id = s.endpoint JOIN process p ON p.id = e.process
GROUP BY e.id ORDER BY sum(s.begun) DESC, max(s.stuck) DESC;

-- Address of the leaf of each stack. instr() turns a byte into its number; the highest two bits are
-- not of the address where they are 1 and 0 (see stack.frames).
CREATE VIEW leaf AS
WITH h(bytes) AS (VALUES (x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'))
SELECT s.id AS stack, s.key, s.process, (instr(h.bytes, substr(s.frames, 1, 1)) - 1)
	| ((instr(h.bytes, substr(s.frames, 2, 1)) - 1) << 8)
	| ((instr(h.bytes, substr(s.frames, 3, 1)) - 1) << 16)
	| ((instr(h.bytes, substr(s.frames, 4, 1)) - 1) << 24)
	| ((instr(h.bytes, substr(s.frames, 5, 1)) - 1) << 32)
	| ((instr(h.bytes, substr(s.frames, 6, 1)) - 1) << 40)
	| ((instr(h.bytes, substr(s.frames, 7, 1)) - 1) << 48)
	| ((instr(h.bytes, substr(s.frames, 8, 1)) - 1 &
		CASE (instr(h.bytes, substr(s.frames, 8, 1)) - 1) >> 6 WHEN 2 THEN 63 ELSE 255 END) << 56) AS address
FROM stack s, h WHERE length(s.frames) >= 8;

-- Frames of all stacks; n = 0 is the leaf.
CREATE VIEW frame AS
WITH RECURSIVE h(bytes) AS (VALUES (x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff')),
f(stack, n, word) AS (
	SELECT id, 0, substr(frames, 1, 8) FROM stack WHERE length(frames) >= 8
	UNION ALL
	SELECT f.stack, f.n + 1, substr(s.frames, 8 * (f.n + 1) + 1, 8)
	FROM f JOIN stack s ON s.id = f.stack WHERE length(s.frames) >= 8 * (f.n + 2))
SELECT f.stack, f.n, (instr(h.bytes, substr(f.word, 1, 1)) - 1)
	| ((instr(h.bytes, substr(f.word, 2, 1)) - 1) << 8)
	| ((instr(h.bytes, substr(f.word, 3, 1)) - 1) << 16)
	| ((instr(h.bytes, substr(f.word, 4, 1)) - 1) << 24)
	| ((instr(h.bytes, substr(f.word, 5, 1)) - 1) << 32)
	| ((instr(h.bytes, substr(f.word, 6, 1)) - 1) << 40)
	| ((instr(h.bytes, substr(f.word, 7, 1)) - 1) << 48)
	| ((instr(h.bytes, substr(f.word, 8, 1)) - 1 &
		CASE (instr(h.bytes, substr(f.word, 8, 1)) - 1) >> 6 WHEN 2 THEN 63 ELSE 255 END) << 56) AS address
FROM f, h;

-- Samples by the symbol of their leaf, the heaviest first.
CREATE VIEW symbol_self AS
WITH hit AS (
	SELECT sample.id, max(sample.weight, 1) AS weight, l.symbol, max(CASE WHEN l.from_ns <= sample.time_ns
		THEN l.from_ns ELSE -l.from_ns END)
	FROM sample
	JOIN (SELECT * FROM leaf LIMIT -1) leaf ON leaf.key = CASE sample.kernel_stack WHEN 0 THEN sample.user_stack
		ELSE sample.kernel_stack END
	JOIN location l ON l.address = leaf.address AND l.process IS leaf.process
	WHERE sample.kind = 1 GROUP BY sample.id)
SELECT y.name, y.module, sum(hit.weight) AS samples
FROM hit JOIN symbol y ON y.id = hit.symbol GROUP BY y.id ORDER BY samples DESC;
