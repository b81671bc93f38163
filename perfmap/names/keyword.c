/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/keyword.h"

#include <stddef.h>

static const struct {
	const char *name, *keyword;
} keywords[] = {
	{"System.Boolean", "bool"},  {"System.Byte", "byte"},	    {"System.SByte", "sbyte"},
	{"System.Char", "char"},     {"System.Decimal", "decimal"}, {"System.Double", "double"},
	{"System.Single", "float"},  {"System.Int32", "int"},	    {"System.UInt32", "uint"},
	{"System.IntPtr", "nint"},   {"System.UIntPtr", "nuint"},   {"System.Int64", "long"},
	{"System.UInt64", "ulong"},  {"System.Int16", "short"},	    {"System.UInt16", "ushort"},
	{"System.Object", "object"}, {"System.String", "string"},
};

const char *perfmap_keyword(struct perfmap_span type)
{
	size_t i;

	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (span_equals(type, keywords[i].name))
			return keywords[i].keyword;
	}
	return NULL;
}
