/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FACT_KINDS_H
#define FACT_KINDS_H
/*
 * The jobs of parsers whose answer is one struct (parse/parse_fact.h), and room for any such
 * answer: for what tries them all.
 */
#include "parse/parse_fact.h"
#include "process/node.h"

static const enum parse_kind fact_kinds[] = {PARSE_ENVIRON, PARSE_PROGRAM, PARSE_RUNTIME,
					     PARSE_LINES,   PARSE_REPLY,   PARSE_NODE,
					     PARSE_SYMBOLS};
#define FACT_KINDS (sizeof(fact_kinds) / sizeof(fact_kinds[0]))

union fact_answer {
	struct parse_environ env;
	struct dotnet_executable program;
	struct parse_runtime runtime;
	struct parse_lines lines;
	struct parse_answer reply;
	struct parse_node node;
	struct parse_symbols symbols;
	unsigned char bytes[65536];
};
#endif
