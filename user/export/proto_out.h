/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_PROTO_OUT_H
#define HOTRUN_EXPORT_PROTO_OUT_H
/*
 * Messages of protobuf-c into a stream. Of a message that is written in several parts, readers
 * append repeated fields and take the last of others (protobuf.dev, "Last One Wins"): so a file of
 * any size is written a row at a time. No threads.
 */
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>

/* Errors stay with out (ferror()). */
void proto_put(FILE *out, const ProtobufCMessage *message);

/* A stream whose bytes go to out compressed (gzip, RFC 1952), to be closed before out is used
 * again: fclose() then says whether all went well. NULL with errno ENOMEM. */
FILE *gzip_open(FILE *out);
#endif
