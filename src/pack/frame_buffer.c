/* SPDX-License-Identifier: MIT */
#include "pack/frame_buffer.h"

#include "base/thread.h"

#define KEPT_MAX 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; taken last */
static uint8_t *kept[KEPT_MAX]; /* each of OFS_FRAME_BUFFER bytes */
static size_t nkept;

static bool is_kept(uint32_t len)
{
	return len > OFS_FRAME_BUFFER / 2 && len <= OFS_FRAME_BUFFER;
}

uint8_t *ofs_frame_buffer_get(uint32_t len)
{
	uint8_t *buf = NULL;

	if (!is_kept(len))
		return malloc(OFS_MAX(len, 1u));
	pthread_mutex_lock(&lock);
	if (nkept)
		buf = kept[--nkept];
	pthread_mutex_unlock(&lock);
	return buf ? buf : malloc(OFS_FRAME_BUFFER);
}

void ofs_frame_buffer_put(uint8_t *buf, uint32_t len)
{
	if (buf && is_kept(len)) {
		OFS_LOCKED(&lock);
		if (nkept < KEPT_MAX)
			kept[nkept++] = ofs_steal(buf);
	}
	free(buf);
}
