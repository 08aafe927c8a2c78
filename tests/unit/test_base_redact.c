/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/redact_rules.h"
#include "base/util.h"
#include "test_redact_draw.h"

static char *make(const char *pattern)
{
	return drawn_make(pattern, 20260101, NULL);
}

static char *redact_n(const char *text, size_t len, int *ret_n)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT, again = OFS_BUF_INIT;
	int n = ofs_redact_text(&out, text, len);

	cr_assert_geq(n, 0);
	cr_assert_eq(ofs_redact_text(&again, (char *)out.data, out.len), 0, "not idempotent: %.*s",
		     (int)out.len, (char *)out.data);
	cr_assert_eq(again.len, out.len);
	ofs_buf_append(&out, "", 1);
	*ret_n = n;
	return (char *)ofs_steal(out.data);
}

static void expect(const char *text, const char *wanted)
{
	OFS_FREE char *got = NULL;
	int n;

	got = redact_n(text, strlen(text), &n);
	cr_assert_str_eq(got, wanted, "of '%s'\n got '%s'\nwant '%s'", text, got, wanted);
	cr_assert_eq(n > 0, strcmp(text, wanted) != 0);
}

/* Returns `around` with each "@@" replaced by `in`, to be freed. */
static char *place(const char *around, const char *in)
{
	struct ofs_buf out = OFS_BUF_INIT;
	const char *at;

	for (; (at = strstr(around, "@@")); around = at + 2) {
		ofs_buf_append(&out, around, (size_t)(at - around));
		ofs_buf_append_str(&out, in);
	}
	ofs_buf_append(&out, around, strlen(around) + 1);
	return (char *)out.data;
}

static void expect_in(const char *around, const char *secret, const char *kind)
{
	OFS_FREE char *text = place(around, secret), *mark = NULL, *wanted = NULL;

	cr_assert(asprintf(&mark, "[redacted: %s]", kind) > 0);
	wanted = place(around, mark);
	expect(text, wanted);
}

static const struct format {
	const char *pattern;
	const char *kind;
	int exact; /* with one character more it is not a secret */
} formats[] = {
	{ "AK~IA%16{k}", "aws-access-key-id", 1 },
	{ "AS~IA%16{k}", "aws-access-key-id", 1 },
	{ "gh~p_%36{a}", "github-token", 0 },
	{ "gh~o_%36{a}", "github-token", 0 },
	{ "gh~u_%36{a}", "github-token", 0 },
	{ "gh~s_%36{a}", "github-token", 0 },
	{ "gh~r_%76{a}", "github-token", 0 },
	{ "github~_pat_%22{a}_%59{a}", "github-token", 0 },
	{ "gl~pat-%20{s}", "gitlab-token", 0 },
	{ "gl~rt-t1_%20{s}.%9{a}", "gitlab-token", 0 },
	{ "sk~-ant-api03-%93{s}AA", "anthropic-key", 0 },
	{ "sk~-%20{a}T3BlbkFJ%20{a}", "openai-key", 0 },
	{ "sk~-proj-%74{s}T3BlbkFJ%74{s}", "openai-key", 0 },
	{ "sk~-%32{h}", "openai-key", 0 },
	{ "AI~za%35{s}", "google-api-key", 1 },
	{ "ya~29.%60{s}", "google-oauth-token", 0 },
	{ "GOC~SPX-%28{s}", "google-client-secret", 1 },
	{ "xo~xb-%12{d}-%13{d}-%24{a}", "slack-token", 0 },
	{ "xo~xp-%11{d}-%11{d}-%12{d}-%32{h}", "slack-token", 0 },
	{ "xo~xa-2-%40{a}", "slack-token", 0 },
	{ "xa~pp-1-A%10{k}-%13{d}-%64{h}", "slack-token", 0 },
	{ "sk~_live_%24{a}", "stripe-key", 0 },
	{ "sk~_test_%24{a}", "stripe-key", 0 },
	{ "rk~_live_%99{a}", "stripe-key", 0 },
	{ "S~K%32{h}", "twilio-key", 1 },
	{ "S~G.%22{s}.%43{s}", "sendgrid-key", 1 },
	{ "np~m_%36{a}", "npm-token", 1 },
	{ "py~pi-AgEIcHlwaS5vcmc%80{s}", "pypi-token", 0 },
	{ "h~f_%34{a}", "huggingface-token", 0 },
	{ "gs~k_%52{a}", "groq-key", 0 },
	{ "xa~i-%80{a}", "xai-key", 0 },
	{ "hv~s.%90{s}", "vault-token", 0 },
	{ "dckr~_pat_%27{s}", "docker-token", 1 },
	{ "dop~_v1_%64{h}", "digitalocean-token", 1 },
	{ "AGE-SEC~RET-KEY-1%58{k}", "age-key", 1 },
	{ "MTIz%20{s}.%6{s}.%38{s}", "discord-token", 0 },
	{ "ey~JhbGciOiJIUzI1NiJ9.ey~JzdWIi%40{s}.%43{s}", "jwt", 0 },
};

/* Contexts of a secret. */
static const char *const places[] = {
	"@@",
	" @@ ",
	"@@\n",
	"\n@@",
	"Use @@, please.",
	"twice @@ and (@@)",
	"'@@'",
	"{\"a\": \"@@\"}",
	"{\\\"a\\\": \\\"@@\\\"}",
	"line\\n@@\\nline\\t@@\\r\\n",
	"\\u003d@@\\u0026",
	"?a=b%3D@@&c=d",
	"\033[1;32m@@\033[0m",
	"ключ @@ ключ",
	"“@@”",
	"<b>@@</b>",
	"https://host/?x=@@#y",
};

static void for_all_formats(void (*check)(const struct format *f, const char *secret))
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(formats); i++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			OFS_FREE char *secret = drawn_make(formats[i].pattern, seed * 1000, NULL);

			check(&formats[i], secret);
		}
	}
}

static void check_places(const struct format *f, const char *secret)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(places); i++)
		expect_in(places[i], secret, f->kind);
}

Test(base_redact, finds_each_format_wherever_it_stands)
{
	for_all_formats(check_places);
}

/* Colour escapes within a secret, which a terminal shows in one piece. */
static void check_coloured(const struct format *f, const char *secret)
{
	static const char *const escapes[] = { "\033[0;31m", "\033[m", "\033]8;;a\a" };
	size_t len = strlen(secret);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(escapes); i++) {
		for (size_t at = 1; at < len; at += 1 + len / 5) {
			OFS_FREE char *text = NULL, *wanted = NULL;

			cr_assert(asprintf(&text, "a \033[1m%.*s%s%s\033[0m b", (int)at, secret,
					   escapes[i], secret + at) > 0);
			cr_assert(asprintf(&wanted, "a \033[1m[redacted: %s]\033[0m b", f->kind) >
				  0);
			expect(text, wanted);
		}
	}
}

Test(base_redact, finds_what_colours_cut)
{
	for_all_formats(check_coloured);
}

Test(base_redact, finds_what_other_controls_cut)
{
	static const char *const unseen[] = {
		"\x1b(B",
		"\x1b"
		"7",
		"\x1b#8",
		"\x1bPx\x1b\\",
		"\b",
		"\x0e",
		"\x7f",
		"\r",
		"\ufe0f",
		"\u034f",
		"\u180e",
		"\ufff9",
		"\U0001d173",
	};
	OFS_FREE char *token = make("gh~p_%36{a}");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(unseen); i++) {
		OFS_FREE char *before = NULL, *amid = NULL, *wanted = NULL;

		cr_assert(asprintf(&before, "x %s%s y", unseen[i], token) > 0);
		cr_assert(asprintf(&wanted, "x %s[redacted: github-token] y", unseen[i]) > 0);
		expect(before, wanted);
		cr_assert(asprintf(&amid, "x %.20s%s%s y", token, unseen[i], token + 20) > 0);
		expect(amid, "x [redacted: github-token] y");
	}
}

Test(base_redact, finds_what_colours_in_strings_precede)
{
	static const char *const colours[] = { "\\u001b[31m", "\\x1b[1;31m", "\\033[0m", "\\e[m" };
	OFS_FREE char *token = make("gh~p_%36{a}");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(colours); i++) {
		OFS_FREE char *text = NULL, *wanted = NULL;

		cr_assert(asprintf(&text, "{\"log\":\"%s%s\"}", colours[i], token) > 0);
		cr_assert(asprintf(&wanted, "{\"log\":\"%s[redacted: github-token]\"}",
				   colours[i]) > 0);
		expect(text, wanted);
	}
}

Test(base_redact, finds_tokens_side_by_side)
{
	static const char *const forms[] = { "gh~p_%36{a}", "AK~IA%16{k}" };
	static const char *const between[] = { "", "\x1b[0m\x1b[31m", "\u200b" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms) * OFS_ARRAY_SIZE(between); i++) {
		const char *form = forms[i % 2];
		OFS_FREE char *a = make(form), *b = make(form), *text = NULL, *got = NULL;
		int n;

		cr_assert(asprintf(&text, "x %s%s%s y", a, between[i / 2], b) > 0);
		got = redact_n(text, strlen(text), &n);
		cr_assert_null(strstr(got, a + 8), "%s", got);
		cr_assert_null(strstr(got, b + 8), "%s", got);
	}
}

/* One character fewer or more (where the length is fixed), another case, or a letter before it. */
static void check_near_misses(const struct format *f, const char *secret)
{
	OFS_FREE char *more = place("@@A", secret), *amid = place("x@@", secret);
	OFS_FREE char *fewer = ofs_strdup(secret), *other = ofs_strdup(secret);
	OFS_FREE char *x = ofs_strdup(secret);
	size_t len = strlen(secret);

	expect(amid, amid);
	if (f->exact) {
		expect(more, more);
		fewer[len - 1] = '\0';
		expect(fewer, fewer);
	}
	other[0] ^= 0x20;
	expect(other, other);
	for (size_t i = strcspn(x, "0123456789-_."); i < len; i++)
		if (x[i] != '.' && x[i] != '-')
			x[i] = 'x';
	expect(x, x);
}

Test(base_redact, near_misses_stay)
{
	for_all_formats(check_near_misses);
}

Test(base_redact, webhooks_keep_their_host)
{
	OFS_FREE char *slack = make("T%10{k}/B%10{k}/%24{a}"), *discord = make("%18{d}/%68{s}");

	expect_in("curl https://hooks.sl"
		  "ack.com/services/@@ -d x",
		  slack, "slack-webhook");
	expect_in("curl https://disc"
		  "ord.com/api/webhooks/@@ -d x",
		  discord, "discord-webhook");
}

Test(base_redact, telegram_shows_the_bot)
{
	OFS_FREE char *token = make("A~A%33{s}"), *more = NULL;

	expect_in("https://api.telegram.org/bot123456789:@@/getMe", token, "telegram-token");
	expect_in("1234567890:@@", token, "telegram-token");
	more = place("1234567890:@@x 1234567:@@ 12345678901:@@", token);
	expect(more, more);
}

Test(base_redact, finds_what_is_assigned_to_a_telling_name)
{
	static const struct {
		const char *around, *kind;
	} cases[] = {
		{ "password=@@", "password" },
		{ "DB_PASSWORD=@@\n", "password" },
		{ "export PGPASSWORD='@@'; psql", "password" },
		{ "{\"password\": \"@@\", \"user\": \"joe\"}", "password" },
		{ "{\\\"password\\\": \\\"@@\\\"}", "password" },
		{ "{\\\\\\\"password\\\\\\\":\\\\\\\"@@\\\\\\\"}", "password" },
		{ "first\\npasswd: @@\\nnext", "password" },
		{ "config[\"passwd\"] = \"@@\"", "password" },
		{ "'pwd' => '@@',", "password" },
		{ "DB_PASS=@@", "password" },
		{ "smtp-pass: '@@'", "password" },
		{ "if password == '@@':", "password" },
		{ "pass := 1; passphrase := `@@`", "password" },
		{ "app.secret_key = b'@@'", "secret" },
		{ "client-secret: @@", "secret" },
		{ "https://h/?access_token=@@&x=1", "token" },
		{ "authToken:@@", "token" },
		{ "refreshToken2 = \"@@\"", "token" },
		{ "//registry/:_authToken=@@", "token" },
		{ "X-Api-Key: @@\r\n", "api-key" },
		{ "apikey=\"@@\"", "api-key" },
		{ "ACCESS_KEY = '@@'", "access-key" },
		{ "privateKey: \"@@\"", "private-key" },
		{ "Authorization: Bearer @@", "authorization" },
		{ "-H 'authorization: Basic @@' -d x", "authorization" },
		{ "{\"Authorization\": \"token @@\"}", "authorization" },
		{ "Proxy-Authorization: @@", "authorization" },
		{ "Cookie: a=1; PHPSESSID=@@; b=2", "session-cookie" },
		{ "Set-Cookie: JSESSIONID=@@; Path=/", "session-cookie" },
		{ "Cookie: connect.sid=@@", "session-cookie" },
		{ "https://user:@@@host/path", "url-password" },
		{ "postgres://user:@@@host:5432/db?x=y", "url-password" },
		{ "redis://:@@@host", "url-password" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			OFS_FREE char *hex = drawn_make("%40{h}", seed * 100, NULL);
			OFS_FREE char *mixed = drawn_make("%24{a}", seed * 200, NULL);

			OFS_FREE char *capitals = drawn_make("%32{k}", seed * 300, NULL);

			expect_in(cases[i].around, hex, cases[i].kind);
			expect_in(cases[i].around, capitals, cases[i].kind);
			expect_in(cases[i].around, mixed, cases[i].kind);
		}
	}
}

Test(base_redact, finds_the_keys_of_clouds_by_their_names)
{
	OFS_FREE char *aws = make("%40{b}"), *azure = make("%86{b}==");

	expect_in("aws_secret_access_key = @@\n", aws, "aws-secret-access-key");
	expect_in("AWS_SECRET_ACCESS_KEY=@@", aws, "aws-secret-access-key");
	expect_in("\"SecretAccessKey\": \"@@\",", aws, "aws-secret-access-key");
	expect_in("AccountName=a;AccountKey=@@;EndpointSuffix=b", azure, "account-key");
}

Test(base_redact, a_token_tells_more_than_its_name)
{
	OFS_FREE char *token = make("gh~p_%36{a}");

	expect_in("GITHUB_TOKEN=@@", token, "github-token");
	expect_in("password: '@@'", token, "github-token");
	expect_in("https://x-access-token:@@@github.com/a/b", token, "github-token");
	expect_in("https://@@@github.com/a/b", token, "github-token");
	expect_in("Authorization: Bearer @@", token, "github-token");
}

Test(base_redact, an_argument_may_follow_another_secret)
{
	OFS_FREE char *token = make("gh~p_%36{a}"), *password = make("%16{a}"), *text = NULL;

	cr_assert(asprintf(&text, "curl -H 'X: %s' -u bob:%s x", token, password) > 0);
	expect(text, "curl -H 'X: [redacted: github-token]' -u bob:[redacted: password] x");
}

/* A run that a mark cuts to the length of a key is not a key. */
Test(base_redact, marks_make_no_secrets)
{
	OFS_FREE char *key = make("AK~IA%16{k}[redacted: token]");
	OFS_FREE char *bot = make("123456789:A~A%33{s}[redacted: token]");
	OFS_FREE char *url =
		make("https://[redacted: token]:%12{a}@h/ https://u:a@b[redacted: token]@c");
	OFS_FREE char *value = make("token=%20{a}[redacted: token]");

	expect(key, key);
	expect(bot, bot);
	expect(url, url);
	expect(value, value);
}

Test(base_redact, finds_passwords_that_people_make)
{
	expect("password: Tr0ub"
	       "4dor&3",
	       "password: [redacted: password]");
	expect("PASSWORD=\"Summer"
	       "2024!\"",
	       "PASSWORD=\"[redacted: password]\"");
	expect("pass: \"it's"
	       "2Hard4u\"",
	       "pass: \"[redacted: password]\"");
	expect("ftp://joe:sw0rd"
	       "fish@h/",
	       "ftp://joe:[redacted: url-password]@h/");
	expect("pass: \"it's"
	       "2Hard4u\"",
	       "pass: \"[redacted: password]\"");
	expect("ftp://joe:sw0rd"
	       "@[::1]/",
	       "ftp://joe:[redacted: url-password]@[::1]/");
	expect("ftp://joe:p@ss"
	       "@h/",
	       "ftp://joe:[redacted: url-password]@h/");
}

Test(base_redact, leaves_alone_what_is_no_secret)
{
	static const char *const texts[] = {
		"",
		"a",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"index 83db48f..bf2a1d4 100644",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty",
		"sha512-9NET910DNaIPngYnLLPeg+Ogzqsi9uM4mSboU5y6p8S5DzMTVEsJZrawi+BoDNUVBa2DhJqQYUFvMDfgU062LQ==",
		"src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4\"",
		"password = get_password()",
		"password = getpass.getpass2(\"Password: \")",
		"password: str",
		"token: Optional[str] = None",
		"def f(token: str, secret=DEFAULT_SECRET_2)",
		"{\"prompt_tokens\": 12345678, \"total_tokens\": 123456789}",
		"{\"token_type\": \"bearer\", \"expires_in\": 3600}",
		"secret = os.environ[\"X_SECRET_1\"]",
		"token = self.client2.refreshToken",
		"const apiKey = process.env.API_KEY_2;",
		"SECRET=${SECRET1a2b3c}",
		"secret: $(cat /run/secrets/k1)",
		"password: {{ vault_password_1a2b }}",
		"password: %s",
		"api_key: <your-api-key>",
		"api_key: \"YOUR_API_KEY_1234\"",
		"API_KEY=xxxxxxxxxxxxxxxx",
		"password: ********",
		"PASSWORD=changeme",
		"PASSWORD=ChangeMe123!",
		"PASSWORD=secret",
		"password: \"correct horse battery staple 1A!\"",
		"pin token: 12345678",
		"token::iterator2Begin",
		"tokenizer: GPT2TokenizerFast",
		"secretary: 3f786850e387550fdab836ed7e6dc881de23001b",
		"token_sha256: 3f786850e387550fdab836ed7e6dc881de23001b",
		"password_hash=3f786850e387550fdab836ed7e6dc881de23001b",
		"'secret': 'V1SecretVolumeSource'",
		"publicKeyToken=\"1fc8b3b9a1e18e3b\"",
		"\"nextPageToken\": \"CAUQAA3f786850e387550f\"",
		"private_key_path = /home/joe/.ssh/id_ed25519",
		"token_url: https://login2.host.org/a1b2c3d4e5",
		"--- PASS: TestParseV2Config3 (0.00s)",
		"{ \"psk\", \"password\", PHRASE }, { \"mysql\", \"-p\", GLUED }",
		"[\"token\", \"secret\", \"V1SecretVolumeSource\"]",
		"set(\"password\", getPassword2a9(\"x\"))",
		"total += token2value; count ?= 1",
		"token: |\n  the first of several lines of prose",
		"bypass=3f786850e387550fdab836ed7e6dc881de23001b",
		"PWD=/tmp/tmp.x8K2j9Qa",
		"Authorization: Bearer <token>",
		"Authorization: Bearer $TOKEN",
		"Authorization: Bearer YOUR_ACCESS_TOKEN",
		"{\"Authorization\": f\"Bearer {token1}\"}",
		"WWW-Authenticate: Basic realm=\"Restricted Area 51\"",
		"http://localhost:8080/@scope/package",
		"https://user:password@host/",
		"https://user:${PASS}@host/",
		"https://[::1]:8080/a@b",
		"see http://a.b:80 and c@d",
		"git@github.com:user/repo.git",
		"AK~IAIOSFODNN7EXAMPLE",
		"sk~-toggleable__content-with-a-very-long-name-in-css",
		"sk~-estimator-doc-link-sk-serial-item-sk-parallel",
		"the risk-averse-and-otherwise-careful-desk-top-people-of-today",
		"np~m_config_registry npm_package_json npm_lifecycle_event",
		"h~f_transformers_internal_testing_random",
		"gl~pat-your-token-goes-here-please",
		"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n",
		"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n",
		"files with \"-----BEGIN RSA PRIVATE KEY-----\" in them are keys",
		"if (strstr(s, \"-----BEGIN PRIVATE KEY-----\"))\n\treturn 1;",
		"-----END RSA PRIVATE KEY-----",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		OFS_FREE char *text = make(texts[i]);

		expect(text, text);
	}
}

Test(base_redact, leaves_alone_addresses_and_keys_of_caches)
{
	static const char *const texts[] = {
		"    link/ether 52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff",
		"key: Linux-node-0f4c2a9be1d7835c6f0a9d8e7b6c5a4f3e2d1c0b9a8f7e6d5c4b3a291817f6e5",
		"The password policy requires Twelve1Characters at least, they said.",
		"return \"token\" if isToken(\"NameOfSomething1\") else None",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++)
		expect(texts[i], texts[i]);
}

Test(base_redact, leaves_alone_prefixes_without_secrets)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(formats); i++) {
		OFS_FREE char *pattern = ofs_strdup(formats[i].pattern), *prefix = NULL;

		pattern[strcspn(pattern, "%")] = '\0';
		prefix = make(pattern);
		expect(prefix, prefix);
	}
}

Test(base_redact, nul_bytes_are_bytes)
{
	OFS_FREE char *token = make("gh~p_%36{a}"), *got = NULL;
	char text[64] = "a\0b\0";
	int n;

	memcpy(text + 4, token, strlen(token));
	got = redact_n(text, 4 + strlen(token) + 2, &n);
	cr_assert_eq(n, 1);
	cr_assert_arr_eq(got, "a\0b\0[redacted: github-token]\0\0", 31);
}

Test(base_redact, spans_are_in_order)
{
	OFS_FREE char *text = make("gh~p_%36{a} password=%20{a} AK~IA%16{k}");
	struct ofs_redact_scan scan;
	struct ofs_secret secret;

	ofs_redact_scan_init(&scan, text, strlen(text));
	cr_assert(ofs_redact_scan_next(&scan, &secret));
	cr_assert_eq(secret.start, 0);
	cr_assert_eq(secret.len, 40);
	cr_assert(ofs_redact_scan_next(&scan, &secret));
	cr_assert_eq(secret.start, 50);
	cr_assert_eq(secret.len, 20);
	cr_assert_str_eq(secret.kind, "password");
	cr_assert(ofs_redact_scan_next(&scan, &secret));
	cr_assert_eq(secret.start, 71);
	cr_assert_eq(secret.len, 20);
	cr_assert_not(ofs_redact_scan_next(&scan, &secret));
	cr_assert_not(ofs_redact_scan_next(&scan, &secret));
}

Test(base_redact, can_be_switched_off)
{
	OFS_FREE char *text = make("gh~p_%36{a} password=%20{a}"), *line = ofs_strdup(text);

	ofs_redact_set_enabled(false);
	expect(text, text);
	ofs_redact_line(line, strlen(line) + 1);
	cr_assert_str_eq(line, text);
	ofs_redact_set_enabled(true);
	ofs_redact_line(line, strlen(line) + 1);
	cr_assert_str_eq(line, "[redacted: github-token] password=[redacted: password]");
}

/* ------------------------------------------------------------------ private keys */

#define KEY_BEGIN  \
	"-----BEG" \
	"IN %s-----\n"
#define KEY_END  \
	"-----E" \
	"ND %s-----"
#define KEY_MARK "[redacted: private-key]"

static char *make_key(const char *label, int lines)
{
	struct ofs_buf out = OFS_BUF_INIT;

	ofs_buf_printf(&out, KEY_BEGIN, label);
	for (int i = 0; i < lines; i++) {
		draw(&out, BASE64, i + 1 < lines ? 64 : 24, (uint64_t)i);
		ofs_buf_append(&out, "\n", 1);
	}
	ofs_buf_printf(&out, KEY_END, label);
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}

static char *marks(int n)
{
	struct ofs_buf out = OFS_BUF_INIT;

	for (int i = 0; i < n; i++)
		ofs_buf_append_str(&out, i ? "\n" KEY_MARK : KEY_MARK);
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}

static const char *const labels[] = {
	"PRIVATE KEY",	   "RSA PRIVATE KEY",	    "EC PRIVATE KEY",	     "OPENSSH PRIVATE KEY",
	"DSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK",
};

/* Returns `text` with `before` and `behind` around each line, to be freed. */
static char *each_line(const char *text, const char *before, const char *behind)
{
	struct ofs_buf out = OFS_BUF_INIT;
	size_t n;

	for (; *text; text += n) {
		n = strcspn(text, "\n");
		ofs_buf_append_str(&out, before);
		ofs_buf_append(&out, text, n);
		ofs_buf_append_str(&out, behind);
		n += text[n] == '\n';
	}
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}

Test(base_redact, private_keys_keep_their_lines)
{
	OFS_FREE char *wanted = marks(12);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(labels); i++) {
		OFS_FREE char *key = make_key(labels[i], 10), *text = place("a\n@@\nb @@.", key);
		OFS_FREE char *result = place("a\n@@\nb @@.", wanted);

		expect(text, result);
	}
}

Test(base_redact, private_keys_in_strings_and_diffs)
{
	OFS_FREE char *key = make_key(labels[0], 10);
	OFS_FREE char *escaped = each_line(key, "", "\\n"), *twice = each_line(key, "", "\\\\n");
	OFS_FREE char *blanks = each_line(key, "", " "),
		      *code = each_line(key, "  \"", "\\n\" +\n");
	OFS_FREE char *diff = each_line(key, "+", "\n"),
		      *numbered = each_line(key, "   12\t", "\n");
	OFS_FREE char *json = place("{\"private_key\": \"@@\", \"x\": 1}", escaped);
	OFS_FREE char *many = marks(12);
	OFS_FREE char *wanted_diff = place("+@@\n", many),
		      *wanted_code = place("  \"@@\\n\" +\n", many);
	OFS_FREE char *wanted_numbered = place("   12\t@@\n", many);

	expect(json, "{\"private_key\": \"" KEY_MARK "\\n\", \"x\": 1}");
	expect(twice, KEY_MARK "\\\\n");
	expect(blanks, KEY_MARK " ");
	expect(diff, wanted_diff);
	expect(numbered, wanted_numbered);
	expect(code, wanted_code);
}

Test(base_redact, encrypted_keys_with_headers)
{
	OFS_FREE char *key = make_key("RSA PRIVATE KEY", 10), *body = strchr(key, '\n');
	OFS_FREE char *text = NULL, *wanted = marks(15);
	char *first = key;

	*body++ = '\0';
	cr_assert(asprintf(&text,
			   "%s\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233\n\n%s",
			   first, body) > 0);
	body = NULL;
	expect(text, wanted);
}

Test(base_redact, private_keys_that_are_cut)
{
	OFS_FREE char *key = make_key(labels[1], 10), *tail = NULL, *wanted = marks(11);
	OFS_FREE char *ten = NULL;
	size_t begin = strlen("-----BEG"
			      "IN RSA PRIVATE KEY-----\n");
	char *end = strstr(key, "\n-----E"
				"ND");

	/* The header is missing, and then also the start of the first line. */
	expect(key + begin, wanted);
	expect(key + begin + 40, wanted);
	expect(strrchr(key, '\n') - 8, KEY_MARK "\n" KEY_MARK);
	tail = place("... 7 lines\n@@\nb", key + begin);
	ten = place("... 7 lines\n@@\nb", wanted);
	expect(tail, ten);
	/* The end is missing. */
	*end = '\0';
	expect(key, wanted);
	key[begin + 7] = '\0';
	expect(key, KEY_MARK "\n" KEY_MARK);
}

/* --------------------------------------------------------------- fixed buffers, cuts */

Test(base_redact, a_line_stays_in_its_buffer)
{
	OFS_FREE char *text = make("x password=%8{a}1aB2cD3 and more of it");
	size_t len = strlen(text);

	for (size_t size = 1; size <= len + 20; size++) {
		OFS_FREE char *line = ofs_alloc(size);

		snprintf(line, size, "%s", text);
		ofs_redact_line(line, size);
		cr_assert_lt(strlen(line), size);
		if (size > 28)
			cr_assert_null(strstr(line, "1aB2"));
		if (strchr(line, '['))
			cr_assert_not_null(strchr(line, ']'), "cut in a mark: '%s'", line);
	}
}

Test(base_redact, a_line_without_its_nul_gets_one)
{
	char line[8];

	memset(line, 'a', sizeof(line));
	ofs_redact_line(line, sizeof(line));
	cr_assert_eq(strlen(line), sizeof(line) - 1);
}

Test(base_redact, cuts_neither_marks_nor_characters)
{
	const char *text = "ab\xd0\xba [redacted: token]\xe2\x82\xac";
	size_t len = strlen(text);

	cr_assert_eq(ofs_redact_cut(text, len, len), len);
	cr_assert_eq(ofs_redact_cut(text, len, len + 1), len);
	for (size_t limit = 0; limit < len; limit++) {
		size_t n = ofs_redact_cut(text, len, limit);

		cr_assert_eq(n,
			     limit < 3	  ? limit
			     : limit < 4  ? 2
			     : limit < 5  ? 4
			     : limit < 22 ? 5
					  : 22,
			     "%zu of %zu", n, limit);
	}
}

/* ------------------------------------------------------------------- large inputs */

/*
 * Inputs that start like a secret again and again. Scanning ahead or back from each start would
 * take hours.
 */
Test(base_redact, takes_no_longer_for_near_misses)
{
	static const char *const units[] = {
		"sk~-",
		"gh~p_",
		"gh~p_a-",
		"eyJ",
		"eyJ.",
		"eyJaaaaaaaaaa.",
		"eyJ-",
		"AK~IA",
		"xo~xb-",
		"py~pi-AgE",
		"token=",
		"token:",
		"token='",
		"token=\"",
		"token=\\\"",
		"token = ",
		"\"token\": \"",
		"token=\"\\",
		"pass~word=a1B2c3D4",
		"=",
		":",
		"= ",
		"\\",
		"\\\\\"",
		"a://",
		"a://b:",
		"a://b:@",
		"://:",
		":AA",
		"1:AA",
		"MTIz.",
		"MTIz",
		"-----BEG~IN PRIVATE KEY-----",
		"-----BEG~IN PRIVATE KEY-----\n",
		"-----BEG~IN PRIVATE KEY-----\n\n(",
		"-----BEG~IN ",
		"-----E~ND PRIVATE KEY-----",
		"\n",
		"\nabcd",
		"-",
		"\nVersion:",
		"authorization: bearer ",
		"Authorization:Basic",
		"password",
		"[redacted: ",
		"]",
		"\"]=",
		" ",
		"%3D",
		"\033[",
		";",
		"1;",
		"kind: Secret\n",
		"\"sensitive\":true,",
		"insert into(passw",
		"curl -u a:",
		"cookie: a=b; ",
		"password is ",
		"\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nAK~IA",
	};
	const size_t size = 2 << 20;
	OFS_FREE char *text = ofs_alloc(size);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(units); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
		OFS_FREE char *unit = make(units[i]);
		size_t n = strlen(unit);

		for (size_t at = 0; at < size; at++)
			text[at] = unit[at % n];
		cr_assert_geq(ofs_redact_text(&out, text, size), 0);
	}
}

Test(base_redact, a_huge_line_with_many_secrets)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, out = OFS_BUF_INIT;
	OFS_FREE char *token = make("gh~p_%36{a} AK~IA%16{k},");

	for (int i = 0; i < 50000; i++)
		ofs_buf_append_str(&text, token);
	cr_assert_eq(ofs_redact_text(&out, (char *)text.data, text.len), 100000);
	cr_assert_eq(out.len,
		     (strlen("[redacted: github-token] [redacted: aws-access-key-id],")) * 50000);
}

/* -------------------------------------------------------------------------- the log */

static void read_log(FILE *file, char *ret, size_t size)
{
	size_t n;

	rewind(file);
	n = fread(ret, 1, size - 1, file);
	ret[n] = '\0';
}

Test(base_redact, the_log_shows_none)
{
	OFS_FREE char *token = make("gh~p_%36{a}"), *filler = ofs_alloc(1001);
	FILE *file = tmpfile();
	char got[8192];
	int saved = dup(STDERR_FILENO);

	cr_assert(file && saved >= 0);
	memset(filler, '.', 1000);
	fflush(stderr);
	cr_assert_geq(dup2(fileno(file), STDERR_FILENO), 0);
	ofs_log(LOG_ERR, "cannot open '%s'", token);
	/* The token is recognised although the line is cut within it. */
	ofs_log(LOG_ERR, "%s %s", filler, token);
	ofs_log(LOG_ERR, "%s%s%s", filler, filler, filler);
	fflush(stderr);
	cr_assert_geq(dup2(saved, STDERR_FILENO), 0);
	close(saved);
	read_log(file, got, sizeof(got));
	fclose(file);
	cr_assert_null(strstr(got, "gh"
				   "p_"));
	cr_assert_not_null(strstr(got, "cannot open '[redacted: github-token]'\n"));
	cr_assert_eq(strlen(strrchr(got, ' ') + 1), 1023 + 1);
}
