/* SPDX-License-Identifier: MIT */
/* Finds secrets by their context: arguments of commands, fields of files, prose. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <stdatomic.h>

#include "base/redact_rules.h"
#include "base/util.h"

/* Limits in bytes of a scope given by a regex, and of the rest of a line. */
#define REACH ((size_t)4 << 10)
#define LINE_REACH ((size_t)256)

#define PASSWORD_MIN 3

/* Limit of one match in PCRE2's units; a regex that needs more finds nothing. */
#define MATCH_LIMIT 100000

/* The form that a value must have. A placeholder is never a secret. */
enum look {
	ANY,
	KEY, /* a key or a good password */
	RANDOM, /* a long key */
};

/*
 * Applies where one of the keywords starts a word, in any case. The scope is what `scope` matches
 * there, or the rest of the line if it is NULL. Without `find`, the secret is the scope's last
 * group. Otherwise each match of `find` in the scope is a secret, or its last group if it has one.
 */
struct context {
	const char *kind;
	const char *keywords; /* separated by "|", lower case, at least REDACT_BEGINS bytes each */
	const char *scope;
	const char *find;
	enum look look;
};

/* Between words of a command, or between strings in a list of them: ["curl", "-u", "x"]. */
#define GAP "(?:[ \\t]+|\", ?\")"

/* An argument, which may be quoted or redacted. */
#define ARG "(?:[^\\s\\[\"']|\\[(?:redacted: [\\w-]+\\])?|\"[^\"\\n]*\"|'[^'\\n]*')+"

/* The value of an argument; AFTER_USER is the part of it after a user name and `sign`. */
#define VALUE \
	"(?|\\\\*\"([^\\s\"\\\\][^\"\\\\\\n]*)|\\\\*'([^\\s'\\\\][^'\\\\\\n]*)|([^\\s\"'\\\\;|&<>)]+))"
#define AFTER_USER(sign)                                         \
	"(?|\\\\*\"[^\"\\\\\\n" sign "]+" sign "([^\"\\\\\\n]+)" \
	"|\\\\*'[^'\\\\\\n" sign "]+" sign "([^'\\\\\\n]+)"      \
	"|(?!\\d+" sign ")[^\\s\"'\\\\;|&<>)" sign "]+" sign "([^\\s\"'\\\\;|&<>)]+))"

#define OPTION(names) "(?<=[\\s\"])(?:" names ")"
#define NEXT(names) OPTION(names) GAP VALUE
#define GLUED(names) "(?:(?<=\\s)(?:" names ")|(?<=\")(?:" names ")(?!\"))(?![\\s=])" VALUE
#define EITHER(names) NEXT(names) "|" GLUED(names)

#define STRING "(?:\"[^\"\\n]*\"|'[^'\\n]*')"
#define IN_STRING "\\\\?[\"']([^\"'\\\\\\n]+)"

static const struct context contexts[] = {
	/* commands with options */
	{ "password", "curl", NULL,
	  OPTION("-[fgikLsSv]*[uUE]|--user|--proxy-user|--cert") "(?:" GAP "|=)?" AFTER_USER(":") },
	{ "token", "curl", NULL, NEXT("--oauth2-bearer") },
	{ "password", "http |https ", NULL, OPTION("-a|--auth") "(?:" GAP "|=)" AFTER_USER(":") },
	{ "password", "mysql|mariadb|7z x|7z a|7z e|7z t|7z -", NULL, GLUED("-p") },
	{ "password",
	  "sshpass|mongo|psexec|docker login|podman login|az login|skopeo login|"
	  "buildah login|oras login|helm registry login|twine|evil-winrm|nxc|crackmapexec|mssql-cli",
	  NULL, EITHER("-p") },
	{ "password", "redis-cli", NULL, NEXT("-a") },
	{ "password", "ldap", NULL, EITHER("-w") },
	{ "password", "unzip -|zip -|sqlcmd|bcp|ipmitool|mosquitto_", NULL, NEXT("-P") },
	{ "password", "snmp", NULL, NEXT("-[AX]") },
	{ "password", "openssl", NULL, NEXT("-[kK]") "|pass:" VALUE },
	{ "password", "keytool|jarsigner|agent.jar|erl -|codecov|gh secret set|htpasswd", NULL,
	  NEXT("-storepass|-keypass|-srcstorepass|-deststorepass|-secret|-setcookie|-t|--body") },
	{ "password", "xfreerdp|wfreerdp|rdesktop|cmdkey|schtasks", NULL,
	  "(?<=\\s)/(?:p|rp|pass):" VALUE "|" NEXT("-p|/rp") },
	{ "password", "smbclient|smbmap|rpcclient|winexe|wmic|mount.cifs", NULL,
	  OPTION("-U|--user") "(?:" GAP "|=)?" AFTER_USER("%") },
	{ "password", "skopeo|podman|buildah", NULL,
	  OPTION("--(?:src-|dest-)?creds") "[= ]" AFTER_USER(":") },
	{ "password", "x11vnc ", NULL, NEXT("-passwd|-password") },
	{ "password", "lftp", NULL, OPTION("-u") GAP "?" AFTER_USER(",") },
	{ "secret", "kubectl create secret", NULL, "--from-literal(?:=|" GAP ")[^=\\s]+=" VALUE },
	{ "password", "nmcli", NULL, NEXT("password|(?:wifi-sec|802-11-wireless-security)\\.psk") },

	/* commands with positional arguments */
	{ "api-key",
	  "wandb login|cargo login|vault login|vault operator unseal|snyk auth|railway login",
	  "(?:[a-z]+ ){1,2}[a-z]+(?: --?[\\w=-]+)* " VALUE, NULL, KEY },
	{ "api-key", "snyk config set", "snyk config set api=" VALUE },
	{ "token", "ngrok", "ngrok (?:config add-|config set-)?authtoken " VALUE },
	{ "access-key", "mc alias set|mc config host add",
	  "mc (?:alias set|config host add) " ARG " " ARG " (" ARG " " ARG ")" },
	{ "password", "http-basic.", "http-basic\\." ARG " " ARG " " VALUE },
	{ "token", "pypi-token.|github-oauth.|gitlab-token.|gitlab-oauth.",
	  "[a-z-]+\\." ARG " " VALUE },
	{ "password", "bundle config",
	  "bundle config(?: set)?(?: --\\w+)* " ARG " ([^\\s:]+:\\S+)" },
	{ "password", "wpa_passphrase", "wpa_passphrase " ARG " " VALUE },
	{ "password", "htpasswd",
	  "htpasswd -[ac-zA-Z]*b[a-zA-Z]* (?:-\\S+ )*(?:" ARG " ){1,2}" VALUE "\\s*$" },
	{ "password", "sqlplus|expdp|impdp|rman",
	  "[a-z]+ (?:-\\S+ )*(?:target )?[\\w.$]+/(?!@)"
	  "([^\\s/@\"']+)@" },
	{ "password", "jdbc:oracle:thin", "[\\w:]+:[\\w.$]+/([^\\s/@\"']+)@" },
	{ "password", "rclone obscure|mkpasswd|openssl passwd", "\\w+(?: \\w+)?(?: -\\w+)* " VALUE,
	  NULL, KEY },
	{ "password", "echo|printf",
	  "(?:echo|printf)(?: -[neE]+)? (?:(?:\"[^\":\\n]*:|'[^':\\n]*:|"
	  "[^\\s\"':|]+:)(?=[^\\n|]*\\|[^\\n|]*chpasswd))?" VALUE "[\"']?\\s*\\|"
	  "[^\\n|]*(?:-stdin|sudo -S|chpasswd|passwd |htpasswd -\\w*i)" },
	{ "password", "auth ", "AUTH (?:[\\w-]+ )?([\\w+/=.!@#%^*~-]+)\\s*$", NULL, KEY },
	{ "password", "acl setuser", NULL, "(?<=\\s)[>#](\\S+)" },
	{ "password", " on >| on #", " on (?:>(\\S+)|#([0-9a-f]{64}))(?= [~&+@-])" },
	{ "password", "identified by ", "(?i)identified by ([\\w$#!@%^*+=.-]+)(?=;|\\s*$)", NULL,
	  KEY },

	/* calls with a user and a password */
	{ "password",
	  "networkcredential(|mysqli_connect(|mysqli(|mysql_connect(|pdo(|connect(|login(|"
	  "getconnection(|httpbasicauth(|httpdigestauth(|plainauth(|setbasicauth(|basic_auth(|"
	  "basicauth(|usernamepasswordcredentials(|usernamepasswordcredential(|credentials(|auth(|"
	  "auth=(|jwt.encode(|jwt.decode(|jwt.sign(|jwt.verify(",
	  "[^(]+\\((?:" STRING "|[\\w.:{}() ]+)(?:, ?(?:" STRING "|[\\w.:{}() ]+))+",
	  ", ?(?:Some\\()?" IN_STRING, KEY },
	{ "secret", "printenv ", "printenv \\w*(?:PASS|PWD|SECRET|TOKEN|KEY)\\w*\\s*\\n(\\S+)\\s*$",
	  NULL, KEY },
	{ "secret", "process.env.|env[",
	  "(?i)(?:process\\.env\\.|ENV\\[[\"'])\\w*(?:PASS|PWD|SECRET|TOKEN|KEY)\\w*"
	  "(?:[\"']\\])? ?(?:\\|\\||\\?\\?) ?[\"']([^\"'\\\\\\n]+)[\"']",
	  NULL, KEY },

	/* commands that print a secret */
	{ "secret",
	  "terraform output -raw|tofu output -raw|gcloud secrets versions access|kubectl get secret|"
	  "op read|pass show|vault kv get -field|vault read -field|config/master.key|"
	  "aws secretsmanager get-secret-value|aws ssm get-parameter|az keyvault secret show|"
	  "initial-password|initialadminpassword|heroku config:get|/run/secrets/|openssl rand -|pwgen |"
	  "gh auth token|gcloud auth print-",
	  "[^\\n]*\\n(\\S+)\\s*$", NULL, KEY },

	/* files and tables */
	{ "cookie", "cookie|set-cookie",
	  "(?i)(?:set-)?cookie[\"']?(?: ?:|, ?\"value\" ?:) ?[\"']?[^\"'\\\\\\x00-\\x08\\x0a-\\x1f]+",
	  "(?<=[ ;:\"'])[\\w.$-]+=([^\\s;\"']+)", RANDOM },
	{ "cookie", "\t/\ttrue|\t/\tfalse", "\\t/\\t(?:TRUE|FALSE)\\t\\d+\\t[^\\t\\n]+\\t(\\S+)",
	  NULL, RANDOM },
	{ "password", "login |machine |account ",
	  "(?:login|machine|account)\\s+(?!and |or )[\\w@.+-]+\\s+password[ \\t]+([^\\s\"'\\\\]+)" },
	{ "password", ":5432:|:5433:|:6432:", ":\\d+:[^:\\s\"']*:[^:\\s\"']*:([^\\s:\"']+)" },
	{ "password", "*:*:*:", "(?<![\\w:*])(?:\\*:){3}[^:\\s\"']*:([^\\s:\"']+)" },
	{ "password", "]:25 |]:465 |]:587 ", "\\]:\\d+\\s+[\\w.@+-]+:(\\S+)" },
	{ "password", "bundle_", "BUNDLE_\\w+: \"([^\":\\s]+:[^\"\\s]+)\"" },
	{ "token", "\"github-oauth|\"gitlab-token|\"gitlab-oauth|\"bearer",
	  "\"(?:git\\w+-\\w+|bearer)\" ?: ?\\{[^{}]*", "\": ?\"([^\"\\s]+)\"" },
	{ "private-key", "\"kty", "\"kty\"[^{}]*", "\"(?:d|k|p|q|dp|dq|qi)\" ?: ?\"([\\w-]+)",
	  RANDOM },
	{ "private-key", "\"d\"", "\"d\" ?: ?\"([\\w-]+)\"(?=[^{}]*\"kty\")", NULL, RANDOM },
	{ "secret", "apiversion: v1",
	  "apiVersion: v1\\n( *)data:\\n(?:\\1 ++[^\\n]*+\\n)++(?=\\1kind: Secret)",
	  "^[ \\t]+[\\w.-]+: ([^\\n]+)" },
	{ "secret", "kind: secret",
	  "kind: Secret(?:(?!kind: )[\\s\\S])*?(?:^data|stringData):[ \\t]*\\n"
	  "(?:[ \\t]+[^\\n]*\\n)+",
	  "^[ \\t]+[\\w.-]+: ([A-Za-z0-9+/]+=*)$", KEY },
	{ "secret", "\"apiversion",
	  "\"apiVersion\": ?\"v1\",\\s*\"data\": ?\\{[^{}]*\\},\\s*\"kind\": ?\"Secret\"",
	  "[\\w.-]\": ?\"([\\w+/=]+)\"[\\s,}]", KEY },
	{ "secret", "\"sensitive\"",
	  "\"sensitive\": ?true,(?:(?!\"sensitive)[^{}])*?\"value\": ?\"([^\"]+)\"" },
	{ "secret", "\" -> \"", "(?<=\\])\" -> \"([^\"\\n]+)\"" },
	{ "account-key", "\"primarykey\"|\"secondarykey\"",
	  "\"\\w+\" ?: ?\"([A-Za-z0-9+/]{40,}=*)\"" },
	{ "password", "<key>",
	  "(?i)<key>[^<]*(?:pass|secret|token|api_?key)[^<]*</key>\\s*<(?:string|value)[^>]*>"
	  "([^<]+)<",
	  NULL, KEY },
	{ "password", "<td",
	  "(?i)<td[^<>]*>\\w*(?:pass|secret|token|api_?key)\\w*</td>\\s*<td[^<>]*>([^<]+)<", NULL,
	  KEY },
	{ "password", "<input", "<input[^<>]*? type=\"password\"[^<>]*? value=\"([^\"]+)\"", NULL,
	  KEY },
	{ "password", "[\"pass|[\"pwd|[\"secret|[\"api|[\"db_pass",
	  "\\[\"[^\"\\]]*\"\\]=>\\s*string\\(\\d+\\) \"([^\"]+)\"", NULL, KEY },
	{ "password", "insert into",
	  "(?i)insert into [^(]*\\([^)]*(?:passw|secret|token|api_?key)[^)]*\\)\\s*values[^;]*",
	  "'([^'\\n]+)'", KEY },
	{ "password", "url,username,password", "url,username,password[^\\n]*\\n(?:[^\\n]+\\n?)+",
	  "^[^\\n]*?https?://[^,\\n]*,[^,\\n]*,([^,\\n]+)" },
	{ "secret", "::add-mask::", "::add-mask::([^\\s\"']+)" },
	{ "password", "basic_auth", "(?i)basic_?auth\\w*[\"']? ?[=:] ?[\"']?[\\w.-]+:([^\\s\"':]+)",
	  NULL, KEY },
	{ "token", "access_token=", "access_token=\\d{8,}(?:\\||%7C)([\\w-]{20,})" },
	{ "secret", "\"securestring\"", "\"SecureString\"\\s*,\\s*\"Value\"\\s*:\\s*\"([^\"]+)\"" },
	{ "secret", ".vault.azure.net/secrets/",
	  "\\.vault\\.azure\\.net/secrets/[^\"\\s]*\""
	  "(?:\\s*,\\s*\"\\w+\"\\s*:\\s*(?:\\w+|\"[^\"]*\"|\\{[^{}]*\\}))*?"
	  "\\s*,\\s*\"value\"\\s*:\\s*\"([^\"]+)\"" },
	{ "password", "\"random_password",
	  "\"random_password\"(?:(?!\"type\"|\"random_pass)[\\s\\S])*?"
	  "\"result\" ?: ?\"([^\"]+)\"" },
	{ "password", "<pass|<secret|<apitoken", "<\\w+>\\{([\\w+/=]{16,})\\}<" },
	{ "password", "<pass", "<[Pp]ass encoding=\"base64\">([^<]+)<" },
	{ "password", "<password_", "<password_\\w+_hex>([0-9a-fA-F]+)<" },
	{ "password", "<password>|<administratorpassword>", "<\\w+>\\s*<Value>([^<]+)<" },
	{ "password", "chpasswd:", "chpasswd:\\s*\\n(?:[ \\t]+[^\\n]*\\n?)+",
	  "^\\s+(?:- )?[a-z_][\\w-]*:(\\S+)$" },
	{ "password", "rootpw", "rootpw (?:--\\w+ )*(?!-)(\\S+)" },
	{ "secret", "define(",
	  "define\\( ?['\"](?:(?:SECURE_)?AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)['\"],\\s*"
	  "['\"]([^\\n]+)['\"] ?\\)",
	  NULL, RANDOM },
	{ "password", "pwd={|password={", "(?i)[a-z]+=\\{([^{}\\n]+)\\}", NULL, KEY },
	{ "password", "password 0|password 7|key 7|secret 0|password 5|secret 5",
	  "(?i)\\w+ [057] (\\S+)" },
	{ "password", "enable password|enable secret|isakmp key",
	  "(?:enable|isakmp) \\w+ (?:[0-9] )?(\\S+)", NULL, KEY },
	{ "password", "snmp-server community|rocommunity|rwcommunity",
	  "(?:snmp-server |r[ow])community (?!public|private|default)" VALUE },
	{ "token", "ttl  ", "TTL\\s+EXPIRES[^\\n]*\\n(?:[^\\n]+\\n?)+",
	  "^([a-z0-9]{6}\\.[a-z0-9]{16})\\b" },
	{ "password-hash", "aad3b435b51404ee", "\\w+:([0-9a-fA-F]{32})" },
	{ "kerberos-hash", "$krb5", "\\$krb5\\w+\\$(\\S{32,})" },

	/* forms that are too common without their context */
	{ "signature", "aws4-hmac-sha256", NULL, "Signature=([0-9a-f]{64})" },
	{ "signature", "digest username", NULL, "response=\"([0-9a-f]{32})\"" },
	{ "webhook", "hooks.zapier.com/hooks", "[\\w./]+?catch/(\\d+/\\w+)" },
	{ "webhook", "maker.ifttt.com/", "[\\w.]+/trigger/\\w+/(?:json/)?with/key/([\\w-]+)" },
	{ "twilio-token", "client(\"ac|client('ac",
	  "[^\"']+[\"']AC[0-9a-f]{32}[\"'], ?[\"']([0-9a-f]{32})[\"']" },
	{ "twitter-bearer", "aaaaaaaaaaaaaaaaaaaa",
	  "(?i)a{20}[a-z0-9]*%(?:3d|2b|2f)[a-z0-9%]{20,}" },
	{ "asana-token", "asana", "(?i)asana\\w*[\"']? ?[:=] ?[\"']?([\\d/]+:[0-9a-f]{32})" },
	{ "private-key", "dumpprivkey|importprivkey",
	  "\\w+[\": ]+([5KL][1-9A-HJ-NP-Za-km-z]{50,51})\\b" },
	{ "secret", "django-insecure", "django-insecure-([^\\s\"'\\\\]{20,})" },

	{ "private-key", "-----begin openvpn static key",
	  "[^\\n]+(?:\\n[ \\t]*(?:#[^\\n]*|[0-9a-f]{32}))+", "[0-9a-f]{32}" },
	{ "private-key", "---- begin ssh2 encrypted private key", "[^\\n]+\\n(?:[^-\\n]+\\n)+",
	  "^[ \\t]*([\\w+/=]{16,})$" },
	{ "private-key",
	  "private-lines:|private-mac:", "[\\w-]+: \\w+(?:\\s*\\n[ \\t]*[A-Za-z0-9+/=]+(?=\\s))*",
	  "(?:^[ \\t]*|MAC: )([\\w+/=]{16,})" },
	{ "minisign-key", "rwrty0iy", "RWRTY0Iy[\\w+/=]{60,}" },
	{ "newrelic-key", "eu01xx", "eu01xx[0-9a-f]{30}NRAL" },

	{ "code", "?code=|&code=", ".code=([\\w%.~+/-]+=*)", NULL, RANDOM },
	{ "api-key", "instrumentationkey|_instrumentationkey",
	  "(?i)\\w+[\"']? ?[=:] ?[\"']?([0-9a-f-]{36})" },
	{ "saml-response", "samlresponse",
	  "(?i)\\w+[\"']?(?: value)? ?[=:] ?[\"']?([\\w+/=%]{40,})", NULL, RANDOM },
	{ "salt", "'salt'|\"salt\"", ".salt. ?(?:=>|:) ?[\"']([0-9a-f]{32,})[\"']" },

	{ "mnemonic", "mnemonic|seed phrase|recovery phrase|secret phrase|phrase:",
	  "(?i)(?:\\w+ )?\\w+[\"']?\\s*[:=]\\s*[\"']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\\b" },
	{ "private-key", "private keys",
	  "(?i)private keys\\s*\\n(?:[=-]+\\s*\\n)?(?:\\(\\d+\\)[^\\n]*\\n?)+", "0x[0-9a-f]{64}" },
	{ "private-key", "/id.json|keypair|\"secretkey\"",
	  "[^\\s\\[]+\\s*(\\[(?:\\d{1,3}, ?){63}\\d{1,3}\\])" },
	{ "recovery-code", "recovery codes|backup codes",
	  "[^\\n]*\\n(?:[ \\t]*\\S{6,16}(?:[ \\t]+\\S{6,16})?[ \\t]*\\n?)+",
	  "\\b(?=[0-9a-z-]*\\d)[0-9a-z]{4,6}-[0-9a-z]{4,6}\\b|\\b\\d{8}\\b" },
	{ "webhook", "open.feishu.cn/open-apis|open.larksuite.com/open-apis",
	  "[\\w./-]+?/hook/([\\w-]+)" },

	/* prose */
	{ "password", "app password", "(?i)app password[^\\n:]*: ?([a-z]{4}(?: [a-z]{4}){3})\\b" },
	{ "password", "password|passphrase",
	  "(?i)[a-z]+(?: [^\\n:]{1,120}:|:[ \\t]*\\n|(?: [^\\n:]{1,60})? is)"
	  "\\s{1,8}[\"'`]?(?!\\w+[\\[(])([^\\s\"'`]+)"
	  "[\"'`]?[.,]?(?=\\s|\\z)",
	  NULL, KEY },
	{ "password", "new value:",
	  "(?i)new value: (\\S+)"
	  "(?=\\s|\\z)",
	  NULL, KEY },
	{ "password", "password|passwd|_pass",
	  "(?i)_?pass\\w*[\"']? ?[:=]>? ?[\"']([a-z]{4}(?: [a-z]{4}){3})[\"']" },
	{ "secret",
	  "api key|access key|secret key|secret access key|auth key|auth token|access token|"
	  "bearer token|client secret|unseal key|"
	  "recovery key|key content|license key",
	  "(?i)[a-z]+ [a-z]+(?: key)?(?: \\d+)?\\**"
	  "(?: ?: ?| is:? |\\t+| {2,}:? ?| ?= ?)[\"'`]?([^\\s\"'`]+)",
	  NULL, KEY },
};

_Static_assert(OFS_ARRAY_SIZE(contexts) <= REDACT_CONTEXTS, "a scope for each in a scan");

/* ---- keywords */

#define KEYWORDS_MAX 512

static struct keyword {
	const char *text;
	uint8_t len, context;
	uint8_t rare; /* offset of its search bytes, the rarest ones */
	uint16_t next; /* next keyword with the same hash, counted from 1; 0 if none */
} keywords[KEYWORDS_MAX];

static size_t n_keywords;

uint16_t redact_first_keyword[REDACT_KEYWORD_HASHES];

/* By descending frequency in programs and documentation; other characters are rarer. */
static const char by_frequency[] = " \"'etao:=insrhl-dcu.mfpgwybvkxjqz";

/* Returns the offset of the REDACT_BEGINS bytes that are rarest in other words. */
static uint8_t rare_part(const char *text, size_t len)
{
	size_t rarest = 0, best = 0;

	for (size_t at = 0; at + REDACT_BEGINS <= len; at++) {
		size_t rare = 0;

		for (size_t i = 0; i < REDACT_BEGINS; i++) {
			const char *found = strchr(by_frequency, text[at + i]);

			rare += found ? (size_t)(found - by_frequency) : sizeof(by_frequency);
		}
		if (rare > rarest) {
			rarest = rare;
			best = at;
		}
	}
	return (uint8_t)best;
}

static void keyword_add(struct redact_begins *begins, const char *text, size_t len, size_t context)
{
	struct redact_bytes of[REDACT_BEGINS] = { 0 };
	uint8_t rare = rare_part(text, len);
	size_t first = redact_keyword_hash(text + rare);

	for (size_t i = 0; i < REDACT_BEGINS; i++) {
		redact_bytes_add(&of[i], text[rare + i]);
		if (redact_is(text[rare + i], REDACT_LOWER))
			redact_bytes_add(&of[i], (char)(text[rare + i] & ~0x20));
	}
	redact_begins_add(begins, REDACT_KEYWORDS, of);
	keywords[n_keywords] = (struct keyword){ text, (uint8_t)len, (uint8_t)context, rare,
						 redact_first_keyword[first] };
	redact_first_keyword[first] = (uint16_t)++n_keywords;
}

void redact_context_begins(struct redact_begins *begins)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(contexts); i++) {
		const char *text = contexts[i].keywords;
		size_t len;

		for (; *text; text += len + (text[len] == '|')) {
			len = strcspn(text, "|");
			assert(len >= REDACT_BEGINS && n_keywords < OFS_ARRAY_SIZE(keywords));
			keyword_add(begins, text, len, i);
		}
	}
}

/* ---- scopes */

/* Regexes, compiled when first needed. */
static struct {
	_Atomic(pcre2_code *) scope, find;
} codes[OFS_ARRAY_SIZE(contexts)];

static pcre2_code *compile(_Atomic(pcre2_code *) *code, const char *regex)
{
	pcre2_code *mine, *other = NULL;
	PCRE2_SIZE at;
	int err;

	if (atomic_load(code))
		return atomic_load(code);
	mine = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, PCRE2_MULTILINE, &err, &at,
			     NULL);
	if (mine)
		pcre2_jit_compile(mine, PCRE2_JIT_COMPLETE);
	if (atomic_compare_exchange_strong(code, &other, mine))
		return mine;
	pcre2_code_free(mine);
	return other;
}

/*
 * Finds a match in [at, end). Returns false if there is none; otherwise sets *ret_group to the last
 * group, or the whole match, and *ret_end.
 */
static bool match(const pcre2_code *code, const char *text, size_t at, size_t end, uint32_t options,
		  struct ofs_secret *ret_group, size_t *ret_end)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
	const PCRE2_SIZE *found;
	int n = 0;

	if (limits && data) {
		pcre2_set_match_limit(limits, MATCH_LIMIT);
		n = pcre2_match(code, (PCRE2_SPTR)text, end, at, options | PCRE2_NOTEMPTY, data,
				limits);
	}
	if (n > 0) {
		found = pcre2_get_ovector_pointer(data);
		*ret_end = found[1];
		found += n > 1 ? 2 * (n - 1) : 0;
		ret_group->start = found[0];
		ret_group->len = found[1] - found[0];
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(limits);
	return n > 0;
}

static bool is_secret(const struct ofs_redact_scan *s, const struct context *c,
		      const struct ofs_secret *secret)
{
	const char *text = s->text + secret->start;
	size_t len = secret->len;
	struct redact_look look;

	if (len < PASSWORD_MIN || redact_among(*text, "-$%") ||
	    redact_has(s->text, s->len, secret->start + len, REDACT_MARK, false) ||
	    memmem(text, len, REDACT_MARK, strlen(REDACT_MARK)))
		return false;
	/* "-p 127.0.0.1:8080:80" is not a password. */
	if (c->look == ANY)
		return !redact_is_password_stand_in(text, len) &&
		       (redact_run(text, 0, len, REDACT_DIGIT | REDACT_DOT | REDACT_COLON) < len ||
			!memchr(text, ':', len));
	redact_look(text, len, &look);
	return c->look == KEY ? redact_is_key_or_password(text, len)
			      : len >= REDACT_LONG && redact_is_random(&look, len) &&
					!redact_is_placeholder(text, len);
}

/* Finds the first secret from `at` on in the current scope of context `i`. */
static bool find_in_scope(struct ofs_redact_scan *s, size_t i, size_t at, struct ofs_secret *ret)
{
	const pcre2_code *find = compile(&codes[i].find, contexts[i].find);

	while (!s->scope_is_done[i]) {
		s->scope_is_done[i] = !match(find, s->text, at, s->scope_end[i], 0, ret, &at);
		ret->kind = contexts[i].kind;
		if (!s->scope_is_done[i] && is_secret(s, &contexts[i], ret))
			return true;
	}
	return false;
}

static bool try_context(struct ofs_redact_scan *s, size_t i, size_t at, struct ofs_secret *ret)
{
	const struct context *c = &contexts[i];
	size_t end = OFS_MIN(s->len, at + (c->scope ? REACH : LINE_REACH));
	const char *newline;

	/* The scope of the previous keyword reaches far enough. */
	if (c->find && at + REACH / 2 < s->scope_end[i])
		return false;
	if (c->scope) {
		if (!match(compile(&codes[i].scope, c->scope), s->text, at, end, PCRE2_ANCHORED,
			   ret, &end))
			return false;
		ret->kind = c->kind;
		if (!c->find)
			return ret->start >= at && is_secret(s, c, ret);
	} else {
		newline = memchr(s->text + at, '\n', end - at);
		end = newline ? (size_t)(newline - s->text) : end;
	}
	s->scope_end[i] = end;
	s->scope_is_done[i] = false;
	s->in_scope = OFS_MAX(s->in_scope, end);
	return find_in_scope(s, i, at, ret);
}

/* Keeps the secret that starts first. A length of 0 means that there is none yet. */
static void keep_first(struct ofs_secret *ret, const struct ofs_secret *found)
{
	if (!ret->len || found->start < ret->start)
		*ret = *found;
}

bool redact_context_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	struct ofs_secret found;

	if (at >= s->in_scope)
		return false;
	ret->len = 0;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(contexts); i++)
		if (at < s->scope_end[i] && find_in_scope(s, i, at, &found))
			keep_first(ret, &found);
	return ret->len;
}

static bool has_keyword(const struct ofs_redact_scan *s, size_t at, const struct keyword *k)
{
	if (at < s->at + k->rare)
		return false;
	at -= k->rare;
	for (size_t i = 0; i < k->len; i++)
		if (at + i == s->len || redact_fold(s->text[at + i]) != k->text[i])
			return false;
	return !redact_is(k->text[0], REDACT_LETTER) || redact_starts(s, at, REDACT_URLSAFE);
}

bool redact_context(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	struct ofs_secret found;

	ret->len = 0;
	for (size_t k = redact_first_keyword[redact_keyword_hash(s->text + at)]; k;
	     k = keywords[k - 1].next)
		if (has_keyword(s, at, &keywords[k - 1]) &&
		    try_context(s, keywords[k - 1].context, at - keywords[k - 1].rare, &found))
			keep_first(ret, &found);
	return ret->len;
}
