/* SPDX-License-Identifier: MIT */
/* Finds keys and tokens by their form, as published by those who issue them. */
#include <assert.h>

#include "base/redact_rules.h"
#include "base/util.h"

/* The shape of the characters after a prefix. */
enum shape {
	ANY_CASE, /* may be capitals only */
	MIXED, /* has digits, or letters of both cases */
	HEX, /* MIXED, with hexadecimal digits only, apart from separators */
	RANDOM, /* redact_is_random(), as the prefix alone is not distinctive */
	JWT, /* MIXED, in three parts */
};

/* A prefix, then exactly `min` to `max` characters of `alphabet`. */
struct token {
	/* each of PREFIX_MIN characters or more; before its own prefixes */
	const char *prefixes;
	const char *kind;
	unsigned int alphabet;
	uint32_t min, max;
	enum shape shape;
	uint8_t shown; /* bytes of the prefix that are not part of the secret */

	/* Characters before the prefix. They are part of the secret if `shown` is 0. */
	unsigned int before;
	uint8_t before_min, before_max;

	bool pair; /* an AWS secret key may follow on the line */
};

#define PREFIX_MIN 2

/* How far after its ID an AWS secret key is searched for. */
#define AWS_PAIR_MAX 80

/* A form of unlimited length. */
#define ANY UINT32_MAX

#define UPPER_DIGIT (REDACT_UPPER | REDACT_DIGIT)
#define LOWER_DIGIT (REDACT_LOWER | REDACT_DIGIT)
#define CRYPT (REDACT_ALNUM | REDACT_DOT | REDACT_BASE64 | REDACT_DOLLAR)

/* Checks for header, claims and signature. */
static bool is_jwt(const char *text, size_t len)
{
	size_t head = redact_run(text, 0, len, REDACT_URLSAFE);
	size_t body = redact_run(text, OFS_MIN(head + 1, len), len, REDACT_URLSAFE);
	size_t sign = redact_run(text, OFS_MIN(body + 1, len), len, REDACT_URLSAFE);

	return head >= 10 && body >= head + 11 && sign >= body + 11;
}

static const struct token tokens[] = {
	{ "AKIA ASIA ABIA ACCA", "aws-access-key-id", UPPER_DIGIT, 16, 16, ANY_CASE, .pair = true },
	{ "A3T", "aws-access-key-id", UPPER_DIGIT, 17, 17, RANDOM, .pair = true },
	{ "ABSK", "aws-bedrock-key", REDACT_ALNUM | REDACT_BASE64, 80, ANY, RANDOM },
	{ "bedrock-api-key-", "aws-bedrock-key", REDACT_URLSAFE | REDACT_BASE64, 60, ANY, MIXED },
	{ "amzn.mws.", "aws-mws-key", LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "amzn1.oa2-cs.v1.", "aws-client-secret", LOWER_DIGIT, 64, 64, HEX },
	{ "ghp_ gho_ ghu_ ghs_ ghr_", "github-token", REDACT_ALNUM, 36, 255, MIXED },
	{ "github_pat_", "github-token", REDACT_WORD, 40, 255, MIXED },
	{ "glpat- glrt-", "gitlab-token", REDACT_URLSAFE | REDACT_DOT, 20, 255, MIXED },
	{ "glptt- gldt- glcbt- glft- glsoat- glimt- glagent- glffct- glrtr- gloas- GR1348941",
	  "gitlab-token", REDACT_URLSAFE, 20, 255, MIXED },
	{ "sk-ant-", "anthropic-key", REDACT_URLSAFE, 20, ANY, MIXED },
	{ "sk-lf-", "langfuse-key", REDACT_ALNUM | REDACT_DASH, 36, 36, MIXED },
	{ "sk-", "openai-key", REDACT_URLSAFE, 32, ANY, RANDOM },
	{ "AIza", "google-api-key", REDACT_URLSAFE, 35, 35, MIXED },
	{ "AQ.", "google-api-key", REDACT_URLSAFE | REDACT_DOT, 30, 255, RANDOM },
	{ "ya29.", "google-oauth-token", REDACT_URLSAFE | REDACT_DOT, 20, ANY, MIXED },
	{ "1//0 4/0A", "google-refresh-token", REDACT_URLSAFE, 40, 255, RANDOM },
	{ "GOCSPX-", "google-client-secret", REDACT_URLSAFE, 28, 28, MIXED },
	{ "xoxa- xoxb- xoxc- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp- xoxd- xwfp-",
	  "slack-token", REDACT_ALNUM | REDACT_DASH | REDACT_PERCENT, 10, ANY, MIXED },
	{ "hooks.slack.com/services/ hooks.slack.com/triggers/", "slack-webhook",
	  REDACT_ALNUM | REDACT_BASE64, 20, 255, MIXED, 25 },
	{ "hooks.slack.com/workflows/", "slack-webhook", REDACT_ALNUM | REDACT_BASE64, 20, 255,
	  MIXED, 26 },
	{ "discord.com/api/webhooks/", "discord-webhook", REDACT_URLSAFE | REDACT_BASE64, 60, 255,
	  MIXED, 25 },
	{ "discordapp.com/api/webhooks/", "discord-webhook", REDACT_URLSAFE | REDACT_BASE64, 60,
	  255, MIXED, 28 },
	{ "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ ek_live_ ek_test_", "stripe-key",
	  REDACT_ALNUM, 10, 255, MIXED },
	{ "whsec_", "stripe-key", REDACT_ALNUM | REDACT_BASE64, 24, 255, MIXED },
	{ "sk_", "elevenlabs-key", LOWER_DIGIT, 48, 48, HEX },
	{ "SK", "twilio-key", REDACT_ALNUM, 32, 32, HEX },
	{ "SG.", "sendgrid-key", REDACT_URLSAFE | REDACT_DOT, 66, 66, MIXED },
	{ "key-", "mailgun-key", LOWER_DIGIT, 32, 32, HEX },
	{ "xkeysib- xsmtpsib-", "brevo-key", REDACT_ALNUM | REDACT_DASH, 64, 100, MIXED },
	{ "re_", "resend-key", REDACT_WORD, 24, 48, RANDOM },
	{ "npm_", "npm-token", REDACT_ALNUM, 36, 36, MIXED },
	{ "pypi-AgE", "pypi-token", REDACT_URLSAFE, 50, ANY, MIXED },
	{ "rubygems_", "rubygems-token", LOWER_DIGIT, 48, 48, HEX },
	{ "cio", "crates-token", REDACT_ALNUM, 32, 32, RANDOM },
	{ "oy2", "nuget-key", LOWER_DIGIT, 43, 43, RANDOM },
	{ "CLOJARS_", "clojars-token", REDACT_ALNUM, 60, 60, MIXED },
	{ "AKCp", "artifactory-token", REDACT_ALNUM, 60, 80, MIXED },
	{ "cmVmdGtu", "artifactory-token", REDACT_ALNUM, 56, 80, MIXED },
	{ "hf_ api_org_", "huggingface-token", REDACT_ALNUM, 30, 40, MIXED },
	{ "gsk_", "groq-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "xai-", "xai-key", REDACT_ALNUM, 64, 100, MIXED },
	{ "r8_", "replicate-token", REDACT_ALNUM, 32, 64, MIXED },
	{ "pplx-", "perplexity-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "csk-", "cerebras-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "fw_", "fireworks-key", REDACT_ALNUM, 22, 48, RANDOM },
	{ "tgp_v1_", "together-key", REDACT_URLSAFE, 40, 64, MIXED },
	{ "nvapi-", "nvidia-key", REDACT_URLSAFE, 60, 80, MIXED },
	{ "pa-", "voyage-key", REDACT_URLSAFE, 43, 43, RANDOM },
	{ "pcsk_", "pinecone-key", REDACT_WORD, 40, 100, MIXED },
	{ "lsv2_pt_ lsv2_sk_", "langsmith-key", REDACT_WORD, 40, 60, MIXED },
	{ "wandb_v1_", "wandb-key", REDACT_WORD, 40, 100, MIXED },
	{ "jina_", "jina-key", REDACT_URLSAFE, 40, 80, MIXED },
	{ "tvly-", "tavily-key", REDACT_ALNUM | REDACT_DASH, 24, 64, RANDOM },
	{ "fc-", "firecrawl-key", LOWER_DIGIT, 32, 32, HEX },
	{ "e2b_", "e2b-key", LOWER_DIGIT, 40, 40, HEX },
	{ "s.", "vault-token", REDACT_ALNUM, 24, 24, RANDOM },
	{ "hvs. hvb. hvr.", "vault-token", REDACT_URLSAFE, 24, 255, MIXED },
	{ "dckr_pat_", "docker-token", REDACT_URLSAFE, 27, 27, MIXED },
	{ "dckr_oat_", "docker-token", REDACT_URLSAFE, 27, 40, MIXED },
	{ "dop_v1_ doo_v1_ dor_v1_", "digitalocean-token", LOWER_DIGIT, 64, 64, HEX },
	{ "shpat_ shpss_ shpca_ shppa_ shpua_", "shopify-token", REDACT_ALNUM, 32, 32, HEX },
	{ "sq0atp- sq0csp-", "square-token", REDACT_URLSAFE, 22, 43, RANDOM },
	{ "EAAA", "square-token", REDACT_URLSAFE, 60, 60, RANDOM },
	{ "EAA", "facebook-token", REDACT_ALNUM | REDACT_BASE64, 80, ANY, RANDOM },
	{ "lin_api_ lin_oauth_", "linear-key", REDACT_ALNUM, 32, 64, MIXED },
	{ "secret_ ntn_", "notion-key", REDACT_ALNUM, 43, 50, RANDOM },
	{ "figd_ figu_ figo_", "figma-token", REDACT_URLSAFE, 30, 64, MIXED },
	{ "PMAK- PMAT-", "postman-key", REDACT_ALNUM | REDACT_DASH, 50, 80, MIXED },
	{ "NRAK-", "newrelic-key", UPPER_DIGIT, 27, 27, MIXED },
	{ "NRJS-", "newrelic-key", REDACT_ALNUM, 18, 64, RANDOM },
	{ "NRII-", "newrelic-key", REDACT_URLSAFE, 32, 32, RANDOM },
	{ "glsa_", "grafana-token", REDACT_WORD, 41, 41, MIXED },
	{ "glc_", "grafana-token", REDACT_ALNUM | REDACT_BASE64, 32, ANY, RANDOM },
	{ "eyJrIjoi", "grafana-token", REDACT_ALNUM | REDACT_BASE64, 60, ANY, RANDOM },
	{ "dapi", "databricks-token", LOWER_DIGIT, 32, 32, HEX },
	{ "ATATT3 ATCTT3 ATSTT3", "atlassian-token", REDACT_URLSAFE | REDACT_BASE64, 60, ANY,
	  MIXED },
	{ "ATBB", "bitbucket-token", REDACT_ALNUM, 24, 60, MIXED },
	{ "BBDC-", "bitbucket-token", REDACT_ALNUM | REDACT_BASE64, 40, 60, MIXED },
	{ "vcp_ vci_ vca_ vcr_ vck_", "vercel-token", REDACT_ALNUM, 24, 64, MIXED },
	{ "vercel_blob_rw_", "vercel-token", REDACT_WORD, 30, 64, MIXED },
	{ "sbp_oauth_ sbp_", "supabase-key", LOWER_DIGIT, 40, 40, HEX },
	{ "sb_secret_", "supabase-key", REDACT_URLSAFE, 24, 64, MIXED },
	{ "pscale_tkn_ pscale_oauth_ pscale_pw_", "planetscale-token",
	  REDACT_URLSAFE | REDACT_DOT | REDACT_BASE64, 32, 64, MIXED },
	{ "napi_", "neon-key", REDACT_ALNUM, 48, 80, MIXED },
	{ "tskey-", "tailscale-key", REDACT_ALNUM | REDACT_DASH, 20, 100, MIXED },
	{ "CFPAT-", "contentful-token", REDACT_URLSAFE, 43, 43, MIXED },
	{ "fo1_", "fly-token", REDACT_URLSAFE, 43, 43, RANDOM },
	{ "fm1r_ fm1a_ fm2_", "fly-token", REDACT_URLSAFE | REDACT_BASE64, 80, ANY, MIXED },
	{ "nfp_ nfc_ nfo_ nfb_ nfu_", "netlify-token", REDACT_ALNUM, 36, 64, MIXED },
	{ "rnd_", "render-key", REDACT_ALNUM, 24, 64, RANDOM },
	{ "HRKU-", "heroku-key", REDACT_URLSAFE, 36, 64, MIXED },
	{ "v1.0-", "cloudflare-key", REDACT_ALNUM | REDACT_DASH, 150, 200, MIXED },
	{ "cfut_ cfat_ cfk_", "cloudflare-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "ddp_ ddw_ ddo_", "deno-token", REDACT_ALNUM, 36, 40, MIXED },
	{ "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "doppler-token",
	  REDACT_URLSAFE | REDACT_DOT, 40, 64, MIXED },
	{ "ops_eyJ", "1password-token", REDACT_URLSAFE | REDACT_BASE64, 100, ANY, MIXED },
	{ "AGE-SECRET-KEY-1", "age-key", UPPER_DIGIT, 58, 58, MIXED },
	{ "aio_", "adafruit-key", REDACT_ALNUM, 28, 28, MIXED },
	{ "p8e-", "adobe-secret", REDACT_ALNUM, 32, 32, RANDOM },
	{ "pat. sat.", "harness-token", REDACT_URLSAFE | REDACT_DOT, 64, 80, RANDOM },
	{ "pat-na1- pat-na2- pat-eu1-", "hubspot-token", LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "pat", "airtable-token", REDACT_ALNUM | REDACT_DOT, 79, 79, RANDOM },
	{ "LTAI", "alibaba-key-id", REDACT_ALNUM, 16, 24, RANDOM },
	{ "AKID", "tencent-key-id", REDACT_ALNUM, 32, 32, RANDOM },
	{ "AKLT", "volcengine-key", REDACT_ALNUM, 40, 64, RANDOM },
	{ "AQVN YCAJ YCN YCO YCM", "yandex-key", REDACT_URLSAFE, 35, 38, RANDOM },
	{ "y0_", "yandex-token", REDACT_URLSAFE, 40, 100, RANDOM },
	{ "apify_api_", "apify-token", REDACT_ALNUM, 36, 48, MIXED },
	{ "bkua_ bkat_", "buildkite-token", REDACT_ALNUM, 40, 40, MIXED },
	{ "CCIPAT_ CCIPRJ_", "circleci-token", REDACT_WORD, 60, 100, MIXED },
	{ "odt_", "dependencytrack-key", REDACT_ALNUM, 32, 64, MIXED },
	{ "sl.u.", "dropbox-token", REDACT_URLSAFE, 60, ANY, MIXED },
	{ "sl.", "dropbox-token", REDACT_URLSAFE, 60, ANY, RANDOM },
	{ "duffel_test_ duffel_live_", "duffel-token", REDACT_URLSAFE | REDACT_BASE64, 43, 43,
	  MIXED },
	{ "dt0c01. dt0s01. dt0s16.", "dynatrace-token", REDACT_URLSAFE | REDACT_DOT, 80, 110,
	  MIXED },
	{ "EZAK EZTK", "easypost-key", REDACT_ALNUM, 54, 54, MIXED },
	{ "FLWSECK- FLWSECK_TEST-", "flutterwave-key", REDACT_ALNUM | REDACT_DASH, 12, 64, RANDOM },
	{ "fio-u-", "frameio-token", REDACT_URLSAFE, 64, 64, MIXED },
	{ "live_ sandbox_", "gocardless-token", REDACT_URLSAFE, 40, 40, RANDOM },
	{ "ico-", "infracost-key", REDACT_ALNUM, 32, 32, RANDOM },
	{ "s-s4t2ud- u-s4t2ud- s-s4t2af- u-s4t2af-", "intra42-secret", LOWER_DIGIT, 64, 64, HEX },
	{ "sk_sbox_", "checkout-key", LOWER_DIGIT, 26, 40, RANDOM },
	{ "AVNS_", "aiven-password", REDACT_URLSAFE, 19, 24, MIXED },
	{ "CCDB1_", "cockroach-key", REDACT_URLSAFE, 50, 80, MIXED },
	{ "packagist_org_ packagist_uut_ packagist_ack_ packagist_acs_", "packagist-token",
	  LOWER_DIGIT | REDACT_LOW_LINE, 60, 90, MIXED },
	{ "waka_", "wakatime-key", LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "llx-", "llamacloud-key", REDACT_ALNUM, 40, 60, RANDOM },
	{ "ovsxat_", "openvsx-token", LOWER_DIGIT | REDACT_DASH, 36, 36, MIXED },
	{ "secret-", "statsig-key", REDACT_ALNUM, 40, 48, RANDOM },
	{ "signkey-prod- signkey-test-", "inngest-key", REDACT_ALNUM, 32, 80, MIXED },
	{ "sdk- mob- api-", "launchdarkly-key", LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "lip_", "lichess-token", REDACT_WORD, 16, 40, RANDOM },
	{ "pylf_v1_", "logfire-token", REDACT_WORD, 32, 64, MIXED },
	{ "sk.eyJ", "mapbox-token", REDACT_URLSAFE | REDACT_DOT, 60, ANY, MIXED },
	{ "API-", "octopus-key", UPPER_DIGIT, 26, 36, RANDOM },
	{ "sha256~", "openshift-token", REDACT_URLSAFE, 43, 43, RANDOM },
	{ "access-sandbox- access-development- access-production-", "plaid-token",
	  LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "polar_oat_ polar_pat_ polar_whs_", "polar-token", REDACT_URLSAFE, 32, 64, MIXED },
	{ "phx_ phs_", "posthog-key", REDACT_WORD, 40, 64, MIXED },
	{ "pnu_ pnb_", "prefect-key", REDACT_ALNUM, 36, 36, MIXED },
	{ "pul-", "pulumi-token", LOWER_DIGIT, 40, 40, HEX },
	{ "rdme_", "readme-key", LOWER_DIGIT, 70, 70, RANDOM },
	{ "RGAPI-", "riot-key", LOWER_DIGIT | REDACT_DASH, 36, 36, HEX },
	{ "samsara_api_", "samsara-token", REDACT_ALNUM, 28, 40, MIXED },
	{ "tk-us- tk-eu-", "scalingo-token", REDACT_URLSAFE, 48, 48, RANDOM },
	{ "sntrys_", "sentry-token", REDACT_WORD | REDACT_BASE64, 60, ANY, MIXED },
	{ "sntryu_ sntrya_ sntryi_", "sentry-token", LOWER_DIGIT, 64, 64, HEX },
	{ "sm_pat_ sm_aat_ sm_sat_", "settlemint-token", REDACT_ALNUM, 16, 16, MIXED },
	{ "shippo_live_ shippo_test_", "shippo-token", REDACT_ALNUM, 40, 40, HEX },
	{ "sqp_ squ_ sqa_", "sonar-token", LOWER_DIGIT, 40, 40, HEX },
	{ "sgp_", "sourcegraph-token", REDACT_WORD, 40, 64, MIXED },
	{ "slk_ sgd_", "sourcegraph-token", LOWER_DIGIT, 64, 64, HEX },
	{ "secret-live- secret-test-", "stytch-secret", REDACT_URLSAFE | REDACT_BASE64, 36, 48,
	  RANDOM },
	{ "KEY0", "telnyx-key", REDACT_WORD, 40, 64, RANDOM },
	{ "tss_", "thunderstore-token", REDACT_ALNUM, 24, 60, RANDOM },
	{ "oauth:", "twitch-token", LOWER_DIGIT, 30, 30, RANDOM },
	{ "tfp_", "typeform-token", REDACT_URLSAFE | REDACT_DOT, 40, 80, MIXED },
	{ "BBFF-", "ubidots-token", REDACT_ALNUM, 24, 60, MIXED },
	{ "unkey_", "unkey-key", REDACT_ALNUM, 20, 40, MIXED },
	{ "zpka_", "zuplo-key", REDACT_WORD, 32, 64, MIXED },
	{ "bb_live_", "browserbase-key", REDACT_URLSAFE, 20, 48, RANDOM },
	{ "tr_dev_ tr_prod_", "trigger-key", REDACT_ALNUM, 20, 40, MIXED },
	{ "access_token$production$ access_token$sandbox$", "braintree-token",
	  REDACT_ALNUM | REDACT_DOLLAR, 40, 64, MIXED },
	{ "bce-v3/ALTAK-", "qianfan-key", REDACT_URLSAFE | REDACT_BASE64, 32, 100, MIXED },
	{ "$2a$ $2b$ $2x$ $2y$", "password-hash", CRYPT, 53, 64, MIXED },
	{ "$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $sha1$ $md5, $scrypt$", "password-hash", CRYPT, 24, 160,
	  MIXED },
	{ "$P$ $H$", "password-hash", CRYPT, 31, 31, MIXED },
	{ "$argon2i$ $argon2d$ $argon2id$ $pbkdf2- $pbkdf2$ $bcrypt-sha256$ $scram$",
	  "password-hash", CRYPT | REDACT_COMMA | REDACT_URLSAFE, 40, 255, MIXED },
	{ "pbkdf2_sha256$ pbkdf2_sha1$ pbkdf2:sha256: pbkdf2:sha512: scrypt: bcrypt_sha256$",
	  "password-hash", CRYPT, 40, 160, MIXED },
	{ "{SSHA} {SHA} {SSHA256} {SSHA512} {SMD5}", "password-hash", REDACT_ALNUM | REDACT_BASE64,
	  28, 128, MIXED },
	{ ":AA", "telegram-token", REDACT_URLSAFE, 33, 33, MIXED, 1, REDACT_DIGIT, 8, 10 },
	{ "Q~", "azure-secret", REDACT_URLSAFE | REDACT_DOT | REDACT_TILDE, 31, 34, RANDOM, 0,
	  REDACT_WORD | REDACT_DOT | REDACT_TILDE, 4, 4 },
	{ "-us", "mailchimp-key", REDACT_DIGIT, 1, 2, HEX, 0, LOWER_DIGIT, 32, 32 },
	{ ".atlasv1.", "terraform-token", REDACT_URLSAFE, 60, 70, MIXED, 0, REDACT_ALNUM, 14, 14 },
	{ "_mmk", "maxmind-key", REDACT_WORD, 0, 0, MIXED, 0, REDACT_WORD, 36, 36 },
	{ ".acc- .acc_", "authress-key", REDACT_URLSAFE | CRYPT, 40, 160, MIXED, 0,
	  REDACT_WORD | REDACT_DOT, 12, 50 },
	{ ":APA91b", "firebase-token", REDACT_URLSAFE, 130, 150, MIXED, 0, REDACT_URLSAFE, 11, 11 },
	{ "AZDO", "azure-devops-token", REDACT_ALNUM, 4, 4, MIXED, 0, REDACT_ALNUM, 76, 76 },
	{ "+ACR", "azure-key", REDACT_ALNUM | REDACT_BASE64, 6, 6, MIXED, 0,
	  REDACT_ALNUM | REDACT_BASE64, 42, 42 },
	{ "+ASt", "azure-key", REDACT_ALNUM | REDACT_BASE64, 8, 8, MIXED, 0,
	  REDACT_ALNUM | REDACT_BASE64, 76, 76 },
	{ "::server: ::node:", "k3s-token", LOWER_DIGIT, 32, 32, MIXED, 0, REDACT_ALNUM, 67, 67 },
	{ "!A", "salesforce-token", REDACT_WORD | REDACT_DOT, 80, 120, MIXED, 0, REDACT_ALNUM, 15,
	  15 },
	{ "pk_", "clickup-token", UPPER_DIGIT | REDACT_LOW_LINE, 36, 48, RANDOM },
	{ "ATTA", "trello-token", REDACT_ALNUM, 60, 80, HEX },
	{ "hcaik_ hcamk_ hcxik_ hcxmk_", "honeycomb-key", REDACT_ALNUM, 40, 64, MIXED },
	{ "dbtc_ dbtu_", "dbt-token", REDACT_URLSAFE | REDACT_BASE64, 30, 64, MIXED },
	{ "mdb_sa_sk_", "mongodb-secret", REDACT_URLSAFE, 32, 64, MIXED },
	{ "pdl_live_apikey_ pdl_sdbx_apikey_", "paddle-key", REDACT_WORD, 50, 56, MIXED },
	{ "rpa_", "runpod-key", REDACT_ALNUM, 40, 64, RANDOM },
	{ "t1.", "yandex-token", REDACT_URLSAFE | REDACT_DOT, 100, ANY, RANDOM },
	{ "vk1.a.", "vk-token", REDACT_URLSAFE, 80, ANY, MIXED },
	{ "st.", "infisical-token", LOWER_DIGIT | REDACT_DOT, 90, 90, HEX },
	{ "ptr_", "portainer-token", REDACT_ALNUM | REDACT_BASE64, 43, 46, RANDOM },
	{ "conda.anaconda.org/t/", "anaconda-token", REDACT_URLSAFE, 20, 64, MIXED, 21 },
	{ "nsec1", "nostr-key", LOWER_DIGIT, 58, 58, MIXED },
	{ "xprv yprv zprv", "wallet-key", REDACT_ALNUM, 100, 112, MIXED },
	{ "v1.local. v2.local. v3.local. v4.local. v1.public. v2.public. v3.public. v4.public.",
	  "paseto", REDACT_URLSAFE | REDACT_DOT, 60, ANY, MIXED },
	{ "SCRAM-SHA-256$ SCRAM-SHA-1$ scrypt:32768:8:1$", "password-hash", CRYPT | REDACT_COLON,
	  40, 255, MIXED },
	{ "grub.pbkdf2.sha512.", "password-hash", CRYPT, 100, ANY, MIXED },
	{ "$8$ $9$", "password-hash", CRYPT | REDACT_DASH, 16, 160, RANDOM },
	{ "LS0tLS1CRUdJTiBSU0EgUFJJ LS0tLS1CRUdJTiBQUklWQVRFIEtFWS LS0tLS1CRUdJTiBFQyBQUklW "
	  "LS0tLS1CRUdJTiBPUEVOU1NI LS0tLS1CRUdJTiBEU0EgUFJJ LS0tLS1CRUdJTiBFTkNSWVBURUQ "
	  "LS0tLS1CRUdJTiBQR1AgUFJJ",
	  REDACT_KEY_KIND, REDACT_ALNUM | REDACT_BASE64, 40, ANY, MIXED },
	/* JSON of Cloudflare tunnels, the registries of AWS and Docker, Elastic, and Laravel. */
	{ "eyJhIjoi eyJwYXlsb2FkIjoi eyJ2ZXIiOi eyJpdiI6 eyJhdXRocyI6", "credential",
	  REDACT_ALNUM | REDACT_BASE64, 60, ANY, RANDOM },
	{ "IGQV IGQW IGAA", "instagram-token", REDACT_URLSAFE, 100, 255, MIXED },
	{ "syt_", "matrix-token", REDACT_WORD, 28, 80, MIXED },
	{ "NRRA-", "newrelic-key", LOWER_DIGIT, 42, 42, HEX },
	{ "A3-", "1password-key", UPPER_DIGIT | REDACT_DASH, 36, 37, RANDOM },
	{ "4b1d", "clickhouse-key", REDACT_ALNUM, 38, 38, MIXED },
	{ "/IncomingWebhook/", "teams-webhook", REDACT_URLSAFE | REDACT_BASE64, 40, 255, MIXED,
	  17 },
	{ "ZXlK", "jwt", REDACT_ALNUM | REDACT_BASE64, 80, ANY, RANDOM },
	{ "eyJ", "jwt", REDACT_URLSAFE | REDACT_DOT, 30, ANY, JWT },
};

/* A prefix of a token. */
struct form {
	const struct token *token;
	const char *prefix;
	uint8_t len;
	uint16_t next; /* next form of the same group */
};

#define FORMS_MAX 512
#define NO_FORM UINT16_MAX

/* The forms of a group are tried one after another, so one bit represents all of them. */
static struct form forms[FORMS_MAX];
static uint16_t first_in_group[REDACT_GROUPS];

static void begins_add(struct redact_begins *begins, const struct form *f, unsigned int group)
{
	struct redact_bytes of[REDACT_BEGINS] = { 0 };

	for (size_t i = 0; i < REDACT_BEGINS; i++) {
		if (i < f->len)
			redact_bytes_add(&of[i], f->prefix[i]);
		for (unsigned int c = 0; i >= f->len && c < 256; c++)
			if (redact_is((char)c, f->token->alphabet))
				redact_bytes_add(&of[i], (char)c);
	}
	redact_begins_add(begins, group, of);
}

static void forms_add(const struct token *token, unsigned int *n)
{
	size_t len;

	for (const char *prefix = token->prefixes; *prefix; prefix += len) {
		prefix += *prefix == ' ';
		len = strcspn(prefix, " ");
		assert(len >= PREFIX_MIN && *n < FORMS_MAX);
		forms[(*n)++] = (struct form){ token, prefix, (uint8_t)len, NO_FORM };
	}
}

void redact_token_begins(struct redact_begins *begins)
{
	unsigned int n = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tokens); i++)
		forms_add(&tokens[i], &n);
	for (unsigned int i = 0; i < REDACT_GROUPS; i++)
		first_in_group[i] = NO_FORM;
	while (n--) {
		unsigned int group = ((unsigned char)forms[n].prefix[0] * 31U +
				      (unsigned char)forms[n].prefix[1]) %
				     REDACT_GROUPS;

		forms[n].next = first_in_group[group];
		first_in_group[group] = (uint16_t)n;
		begins_add(begins, &forms[n], group);
	}
}

static bool is_shaped(const struct token *t, const char *text, size_t len)
{
	struct redact_look look;

	redact_look(text, len, &look);
	if (look.variety < REDACT_VARIETY_MIN)
		return false;
	if (t->shape == RANDOM && !redact_is_random(&look, len))
		return false;
	if (t->shape != RANDOM && t->shape != ANY_CASE && !(look.classes & REDACT_DIGIT) &&
	    (look.classes & REDACT_LETTER) != REDACT_LETTER)
		return false;
	if ((t->shape == HEX && !redact_is_hex(text, len)) ||
	    (t->shape == JWT && !is_jwt(text, len)))
		return false;
	return !redact_is_placeholder(text, len);
}

/* True if a mark follows. Then the token was longer, and was judged as a whole. */
static bool is_cut_short(const struct ofs_redact_scan *s, size_t end)
{
	return redact_has(s->text, s->len, end, REDACT_MARK, false);
}

/* Returns the end of the AWS secret key that follows an ID ending at `end`, or `end`. */
static size_t pair_end(const struct ofs_redact_scan *s, size_t end)
{
	const unsigned int alphabet = REDACT_ALNUM | REDACT_BASE64;
	size_t limit = OFS_MIN(s->len, end + AWS_PAIR_MAX), start, at;

	for (at = end; at < limit && (unsigned char)s->text[at] != '\n'; at++) {
		struct redact_look look;

		start = at;
		at = redact_run(s->text, start, OFS_MIN(s->len, start + AWS_PAIR_MAX), alphabet);
		if (at - start != AWS_SECRET_LEN)
			continue;
		redact_look(s->text + start, at - start, &look);
		if (redact_is_random(&look, at - start) &&
		    !redact_is_placeholder(s->text + start, at - start) && !is_cut_short(s, at))
			return at;
	}
	return end;
}

/* Returns the start of what must precede the prefix at `at`, or SIZE_MAX if it is missing. */
static size_t find_before(const struct ofs_redact_scan *s, const struct token *t, size_t at)
{
	size_t start = at;

	while (start > s->at && at - start <= t->before_max &&
	       redact_is(s->text[start - 1], t->before))
		start--;
	return at - start < t->before_min || at - start > t->before_max ? SIZE_MAX : start;
}

static bool has_prefix(const struct ofs_redact_scan *s, const struct form *f, size_t at)
{
	return at + f->len <= s->len && memcmp(s->text + at, f->prefix, f->len) == 0;
}

/* Returns where the same prefix starts another token in the run [body, end), or `end`. */
static size_t next_token(const struct ofs_redact_scan *s, const struct form *f, size_t body,
			 size_t end)
{
	size_t limit = f->token->max;

	if (end - body > limit)
		return has_prefix(s, f, body + limit) ? body + limit : end;
	for (size_t at = end - OFS_MIN(end - body, f->len - 1U); at < end; at++)
		if (has_prefix(s, f, at))
			return at;
	return end;
}

/*
 * A token does not start inside a run of its alphabet, so the runs that a rule reads ahead do not
 * overlap.
 */
static bool find_token(const struct ofs_redact_scan *s, const struct form *f, size_t at,
		       struct ofs_secret *ret)
{
	const struct token *t = f->token;
	size_t start = at, body = at + f->len, end;

	if (s->text[at] != f->prefix[0] || s->text[at + 1] != f->prefix[1] || !has_prefix(s, f, at))
		return false;
	if (t->before)
		start = find_before(s, t, at);
	else if (!t->shown && !redact_starts(s, at, REDACT_ALNUM | t->alphabet))
		return false;
	if (start == SIZE_MAX)
		return false;
	end = redact_run(s->text, body, OFS_MIN(s->len, t->before ? body + t->max + 1 : s->len),
			 t->alphabet);
	if (is_cut_short(s, end) || (end < s->len && redact_is(s->text[end], REDACT_ALNUM)))
		return false;
	while (end > body && redact_is(s->text[end - 1], REDACT_DOT | REDACT_COMMA))
		end--;
	end = next_token(s, f, body, end);
	if (end - body < t->min || end - body > t->max)
		return false;
	/* The longer part decides. */
	if (at - start > end - body ? !is_shaped(t, s->text + start, at - start)
				    : !is_shaped(t, s->text + body, end - body))
		return false;
	if (t->shown)
		start = at + t->shown;
	if (t->pair)
		end = pair_end(s, end);
	*ret = (struct ofs_secret){ start, end - start, t->kind };
	return true;
}

bool redact_token(struct ofs_redact_scan *s, unsigned int group, size_t at, struct ofs_secret *ret)
{
	for (unsigned int i = first_in_group[group]; i != NO_FORM; i = forms[i].next)
		if (find_token(s, &forms[i], at, ret))
			return true;
	return false;
}

/* True unless the value is a pattern or a placeholder. */
static bool is_varied(const char *text, size_t len)
{
	struct redact_look look;

	redact_look(text, len, &look);
	return look.variety >= REDACT_VARIETY_MIN && !redact_is_placeholder(text, len);
}

/*
 * A Discord bot token: the ID of the bot in base64 (redact.c has its possible first bytes), the
 * time, and a signature.
 */
bool redact_discord(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	static const struct {
		size_t min, max;
	} parts[] = { { 23, 30 }, { 6, 7 }, { 27, 40 } };
	size_t end = at, i, start;

	if (!redact_starts(s, at, REDACT_URLSAFE | REDACT_DOT))
		return false;
	for (i = 0; i < OFS_ARRAY_SIZE(parts); i++) {
		if (i && (end >= s->len || s->text[end++] != '.'))
			return false;
		start = end;
		end = redact_run(s->text, start, s->len, REDACT_URLSAFE);
		if (end - start < parts[i].min || end - start > parts[i].max)
			return false;
	}
	if (is_cut_short(s, end) || !is_varied(s->text + at, end - at))
		return false;
	*ret = (struct ofs_secret){ at, end - at, "discord-token" };
	return true;
}
