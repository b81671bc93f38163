/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schema as part of the binary, and the empty capture that it describes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/private.h"

/* The path is relative to the top of the tree, where make runs the compiler. */
__asm__(".section .rodata\n"
	".global store_schema\n"
	".balign 8\n"
	"store_schema:\n"
	".incbin \"user/store/schema.sql\"\n"
	".byte 0\n"
	".previous\n");

static int put_text(sqlite3_stmt *stmt, uint32_t id, const char *word, const char *text)
{
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, word, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, text, -1, SQLITE_STATIC);
	sqlite3_step(stmt);
	return sqlite3_reset(stmt);
}

static int put_texts(sqlite3 *db)
{
	sqlite3_stmt *reason = NULL, *loss = NULL;
	int rc;

	rc = sqlite3_prepare_v2(db, "INSERT INTO reason VALUES (?, ?, ?)", -1, &reason, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO loss_cause VALUES (?, ?, ?)", -1, &loss,
					NULL);
	for (uint32_t i = 0; !rc && i < REASON_CNT; i++)
		rc = put_text(reason, i, model_reason_id(i), model_reason_text(i));
	/* Numbers without a meaning yet have no text. */
	for (uint32_t i = 0; !rc && i < LOSS_CAUSE_CNT; i++)
		if (strcmp(model_loss_id(i), model_loss_id(LOSS_CAUSE_CNT)) != 0)
			rc = put_text(loss, i, model_loss_id(i), model_loss_text(i));
	sqlite3_finalize(reason);
	sqlite3_finalize(loss);
	return rc;
}

static int put_host(sqlite3 *db, const struct model_host *host)
{
	sqlite3_stmt *stmt = NULL;
	int err = table_prepare_write(db, TABLE_HOST, &stmt);

	if (!err)
		err = table_write(stmt, TABLE_HOST, 0, host);
	sqlite3_finalize(stmt);
	return err;
}

int schema_image(const struct model_host *host, unsigned char **ret_image, size_t *ret_bytes)
{
	unsigned char *image = NULL;
	sqlite3_int64 bytes = 0;
	sqlite3 *db = NULL;
	char pragmas[160];
	int err = 0;

	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA page_size=4096; PRAGMA encoding='UTF-8'; PRAGMA auto_vacuum=0;"
		 "PRAGMA application_id=%u; PRAGMA user_version=%u; BEGIN;",
		 STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
	    sqlite3_exec(db, pragmas, NULL, NULL, NULL) ||
	    sqlite3_exec(db, store_schema, NULL, NULL, NULL) || put_texts(db) ||
	    put_host(db, host) || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		err = db ? store_db_error(db) : -ENOMEM;
	if (!err) {
		image = sqlite3_serialize(db, "main", &bytes, 0);
		if (!image)
			err = -ENOMEM;
	}
	sqlite3_close(db);
	if (err)
		return err;
	*ret_image = image;
	*ret_bytes = (size_t)bytes;
	return 0;
}
