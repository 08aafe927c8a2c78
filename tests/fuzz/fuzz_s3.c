/* SPDX-License-Identifier: MIT */
/* XML answers of S3 services. */
#include "base/buf.h"
#include "fuzz.h"
#include "remote/s3_xml.h"

static int count(void *arg, const char *key, uint64_t size)
{
	size_t *left = arg;

	FUZZ_ASSERT(strlen(key) <= *left);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_FREE char *xml = fuzz_copy(data, size);
	struct ofs_s3_refusal refusal = { "", "" };
	struct ofs_s3_page page = { .token = OFS_BUF_INIT };
	struct ofs_buf key = OFS_BUF_INIT;
	int r = ofs_s3_xml_refusal(xml, size, &refusal);

	FUZZ_ASSERT(r == 0 || r == -EBADMSG);
	r = ofs_s3_xml_list(xml, size, count, &size, &page);
	FUZZ_ASSERT(r == -EBADMSG || (r == 0 && (page.token.len || !page.truncated)));
	r = ofs_s3_xml_deleted(xml, size, &key, &refusal);
	FUZZ_ASSERT(r == 0 || r == 1 || r == -EBADMSG);
	ofs_buf_finish(&page.token);
	ofs_buf_finish(&key);
	return 0;
}
