// SPDX-License-Identifier: GPL-2.0-or-later
//
// Burns CPU while an exception is in flight through a known chain, as tests/support/stacks.py has it.
//
//   chain-throw SECONDS
//
// main try_all t0 t1 t2 [unwinder] Burner::~Burner     and then     main try_all caught
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static volatile std::uint64_t sink;

#define LINK __attribute__((noipa))

static std::uint64_t clock_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return std::uint64_t(now.tv_sec) * 1000000000 + std::uint64_t(now.tv_nsec);
}

static inline __attribute__((always_inline)) std::uint64_t spin(std::uint64_t x)
{
	for (int i = 0; i < 1000000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

struct Burner {
	LINK ~Burner() { sink = spin(sink | 1); }
};

LINK void caught(int what) { sink = spin(sink | std::uint64_t(what)); }

LINK void t2(int what)
{
	volatile char room[200];

	room[what & 127] = 1;
	throw what + room[what & 127];
}

LINK int t1(int what)
{
	Burner burner;

	t2(what + 1);
	return what;
}

LINK int t0(int what) { return t1(what + 1) + 1; }

LINK void try_all(int what)
{
	try {
		sink = std::uint64_t(t0(what));
	} catch (int thrown) {
		caught(thrown | 1);
	}
	sink = sink + 1;
}

int main(int argc, char **argv)
{
	std::uint64_t end_ns = clock_ns() + std::uint64_t((argc > 1 ? std::atof(argv[1]) : 1) * 1e9);

	while (clock_ns() < end_ns)
		try_all(3);
	return 0;
}
