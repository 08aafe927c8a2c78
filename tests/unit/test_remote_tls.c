/* SPDX-License-Identifier: MIT */
/* An S3 service over TLS, played by the program openssl, with a single object. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "io/http.h"
#include "remote/s3.h"
#include "scratch.h"

#define FILES                                                                                    \
	"cd '%s' && mkdir -p b/wal && "                                                          \
	"printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nabc' " \
	">b/wal/1 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes " \
	"-subj /CN=x -addext subjectAltName=IP:127.0.0.1 -keyout key -out certificate 2>/dev/null"

static char dir[SCRATCH_SIZE], certificate[64];
static pid_t child;
static int port;
static struct ofs_error err;

static void run_server(int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (chdir(dir) == 0)
		execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
		       "certificate", "-key", "key", "-HTTP", NULL);
	_exit(1);
}

static void start_server(void)
{
	char line[256];
	FILE *out;
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	child = fork();
	if (child == 0)
		run_server(fds[1]);
	close(fds[1]);
	out = fdopen(fds[0], "r");
	while (!port && fgets(line, sizeof(line), out))
		sscanf(line, "ACCEPT 127.0.0.1:%d", &port);
	cr_assert_gt(port, 0);
	/* The pipe stays open, since the server writes to it. */
}

static void init(void)
{
	OFS_FREE char *command = NULL;

	if (!ofs_http_is_possible() || system("command -v openssl >/dev/null") != 0)
		cr_skip_test("there is no libcurl or no openssl");
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	unsetenv("SSL_CERT_FILE");
	unsetenv("AWS_CA_BUNDLE");
	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	scratch_dir(dir);
	snprintf(certificate, sizeof(certificate), "%s/certificate", dir);
	command = ofs_format(FILES, dir);
	cr_assert_eq(system(command), 0);
	start_server();
}

static void finish(void)
{
	OFS_FREE char *command = ofs_format("rm -r '%s'", dir);

	if (child > 0) {
		kill(child, SIGTERM);
		waitpid(child, NULL, 0);
	}
	cr_expect_eq(system(command), 0);
}

TestSuite(remote_tls, .init = init, .fini = finish);

static int get(const char *host)
{
	OFS_CLEANUP(ofs_location_finish) struct ofs_location location = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	OFS_FREE char *text = ofs_format("s3://b?endpoint=https://%s:%d", host, port);
	struct ofs_s3_settings settings = { .location = &location, .timeout = 60 * OFS_NS_PER_S };
	struct ofs_s3 *s3;
	int r;

	cr_assert_eq(ofs_location_parse(text, &err, &location), 0, "%s", err.text);
	cr_assert_eq(ofs_s3_open(&settings, &err, &s3), 0, "%s", err.text);
	r = ofs_s3_get(s3, "wal/1", 10, &out, &err);
	cr_expect(r < 0 || strcmp(ofs_buf_str(&out), "abc") == 0);
	ofs_s3_close(s3);
	return r;
}

static void expect_refusal(int r)
{
	cr_expect_eq(r, -EAGAIN);
	cr_expect_not_null(strstr(err.text, "certificate"), "%s", err.text);
}

Test(remote_tls, certificates_are_verified)
{
	expect_refusal(get("127.0.0.1"));
	setenv("AWS_CA_BUNDLE", certificate, 1);
	setenv("SSL_CERT_FILE", "/none", 1);
	cr_expect_eq(get("127.0.0.1"), 0, "%s", err.text);
	expect_refusal(get("localhost")); /* the certificate is not for this name */
	setenv("AWS_CA_BUNDLE", "", 1);
	expect_refusal(get("127.0.0.1"));
	setenv("SSL_CERT_FILE", certificate, 1);
	cr_expect_eq(get("127.0.0.1"), 0, "%s", err.text);
}
