/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648, section 4), by libcrypto. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends the decoded bytes. False: `text` is not base64 with its padding. */
bool ofs_base64_decode(const char *text, size_t len, struct ofs_buf *to);

/* Appends the encoded text with its padding. */
void ofs_base64_encode(const void *data, size_t len, struct ofs_buf *to);
