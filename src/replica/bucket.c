/* SPDX-License-Identifier: MIT */
#include "replica/bucket.h"

#include "base/text.h"

struct ofs_bucket {
	const struct ofs_remote_access *remote;
	struct ofs_s3 *s3;
};

/* Returns a command of the user's, or NULL. */
static const char *command_of(const char *variable)
{
	const char *text = secure_getenv(variable);

	return text && *text ? text : NULL;
}

int ofs_remote_access_parse(const char *location, const char *key, struct ofs_error *err,
			    struct ofs_remote_access *ret)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access remote = { 0 };
	const char *credentials = command_of("OFFLOAD_REMOTE_CREDENTIALS");
	const char *key_command = command_of("OFFLOAD_REPLICATE_KEY");
	const char *file = key && *key ? key : NULL;
	int r = ofs_location_parse(location, err, &remote.location);

	if (r == 0 && (file || key_command))
		r = ofs_seal_key_load(file, file ? NULL : key_command, err, &remote.key);
	if (r < 0)
		return r;
	remote.credentials = credentials ? ofs_strdup(credentials) : NULL;
	*ret = ofs_steal(remote);
	return 0;
}

void ofs_remote_access_finish(struct ofs_remote_access *r)
{
	ofs_location_finish(&r->location);
	free(r->credentials);
	ofs_seal_key_destroy(r->key);
	*r = (struct ofs_remote_access){ 0 };
}

int ofs_bucket_open(const struct ofs_remote_access *remote, int64_t timeout,
		    const atomic_bool *cancel, struct ofs_error *err, struct ofs_bucket **ret)
{
	const struct ofs_s3_settings set = { .location = &remote->location,
					     .credentials_command = remote->credentials,
					     .timeout = timeout,
					     .cancel = cancel };
	struct ofs_s3 *s3;
	int r = ofs_s3_open(&set, err, &s3);

	if (r < 0)
		return r;
	*ret = ofs_alloc(sizeof(**ret));
	**ret = (struct ofs_bucket){ remote, s3 };
	return 0;
}

void ofs_bucket_close(struct ofs_bucket *b)
{
	if (b)
		ofs_s3_close(b->s3);
	free(b);
}

struct ofs_s3 *ofs_bucket_s3(struct ofs_bucket *b)
{
	return b->s3;
}

int ofs_bucket_create(struct ofs_bucket *b, const char *key, const void *data, size_t len,
		      struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf sealed = OFS_BUF_INIT;
	int r;

	if (!b->remote->key)
		return ofs_s3_create(b->s3, key, data, len, err);
	r = ofs_seal(b->remote->key, key, data, len, &sealed);
	return r < 0 ? ofs_error_set(err, -r, "%s cannot be sealed: %s", key, strerror(-r))
		     : ofs_s3_create(b->s3, key, sealed.data, sealed.len, err);
}

int ofs_bucket_get(struct ofs_bucket *b, const char *key, size_t max, struct ofs_buf *ret,
		   struct ofs_error *err)
{
	int r = ofs_s3_get(b->s3, key, (size_t)ofs_sealed_size(max), ret, err);

	return r < 0 ? r : ofs_unseal(b->remote->key, key, ret, err);
}

int ofs_bucket_get_range(struct ofs_bucket *b, const char *key, uint64_t size, uint64_t off,
			 size_t len, void *buf, struct ofs_error *err)
{
	OFS_FREE uint8_t *sealed = NULL;
	uint64_t at, n;
	int r;

	if (!b->remote->key)
		return ofs_s3_get_range(b->s3, key, off, len, buf, err);
	ofs_sealed_range(size, off, len, &at, &n);
	sealed = malloc(n);
	if (!sealed)
		return ofs_error_set(err, ENOMEM, "no memory for %llu bytes of '%s'",
				     (unsigned long long)n, key);
	r = ofs_s3_get_range(b->s3, key, at, n, sealed, err);
	return r < 0 ? r : ofs_unseal_range(b->remote->key, key, size, off, len, sealed, buf, err);
}
