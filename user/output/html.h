/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_HTML_H
#define HOTRUN_OUTPUT_HTML_H
/*
 * What pages share: files that are embedded, a nonce for the policy of a page, names as text. No
 * threads.
 */
#include <stdio.h>

/*
 * A file of user/output/page/, as it is in the tree; the Makefile builds at the root and rebuilds
 * who embeds one when it changes.
 */
#define HTML_EMBED(name, file)                                                           \
	__asm__(".pushsection .rodata\n"                                                 \
		".hidden hotrun_page_" #name "\n.global hotrun_page_" #name "\n"         \
		"hotrun_page_" #name ":\n"                                               \
		".incbin \"user/output/page/" file "\"\n"                                \
		".hidden hotrun_page_" #name "_end\n.global hotrun_page_" #name "_end\n" \
		"hotrun_page_" #name "_end:\n"                                           \
		".byte 0\n"                                                              \
		".popsection\n");                                                        \
	extern const char hotrun_page_##name[], hotrun_page_##name##_end[]

#define HTML_NONCE_BYTES 33
/* 128 random bits in hex: no name in the page can have guessed them when it was chosen. 0 or
 * negative errno. */
int html_nonce(char nonce[static HTML_NONCE_BYTES]);
/* Writes untrusted text, safe as text and as the value of an attribute in quotes. */
void html_put(FILE *out, const char *text);
/* Copies text as XML 1.0 can hold it (its 2.2): valid UTF-8 without control and direction
 * characters, nor U+FFFE and U+FFFF; each is U+FFFD. buf is always terminated, and cut at whole
 * characters. */
void html_copy_xml(char *buf, size_t bytes, const char *text);
#endif
