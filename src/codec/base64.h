/* SPDX-License-Identifier: MIT */
/* Bytes as text of 64 characters (RFC 4648, section 4), by libcrypto. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends the bytes that `text` stands for, with its padding. False: it is not base64. */
bool ofs_base64_decode(const char *text, size_t len, struct ofs_buf *to);

/* Appends the text, with its padding. */
void ofs_base64_encode(const void *data, size_t len, struct ofs_buf *to);
