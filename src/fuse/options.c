/* SPDX-License-Identifier: MIT */
#include "fuse/options.h"

#include "client/daemon_options.h"
#include "client/workspace.h"
#include "io/path.h"
#include "tree/config.h"

#define OPTION(text, member, value)                               \
	{                                                         \
		text, offsetof(struct ofs_options, member), value \
	}

/* clang-format off */
#define ENTRY(member, name, again, text) OPTION(name, member, 1), OPTION(again, member, 1),

static const struct fuse_opt specs[] = {
	OFS_DAEMON_FLAGS(ENTRY)
	OFS_DAEMON_WORDS(ENTRY)
	FUSE_OPT_END,
};
/* clang-format on */

#define URL "s3://"

struct parsing {
	struct ofs_options options; /* first: the offsets in `specs` count from here */
	struct ofs_error *err;
};

/* A relative path would mean another place once the daemon has changed to "/". */
static int take_path(struct parsing *p, const char *arg, char **ret)
{
	*ret = ofs_path_real(arg);
	if (!*ret)
		ofs_error_set(p->err, EINVAL,
			      "the current directory is gone: name '%s' by an absolute path", arg);
	return *ret ? 0 : -1;
}

/* Takes the URL of a store to follow. Its local copy becomes the store. */
static int take_url(struct parsing *p, const char *arg)
{
	p->options.url = ofs_strdup(arg);
	if (ofs_workspace_copy(arg, p->err, &p->options.store) < 0)
		return -1;
	return ofs_config_set(p->options.config, "remote", arg, p->err);
}

/* Takes an option of the form NAME=VALUE. Sets *ret to false if it is left to libfuse. */
static int take_value(struct parsing *p, const char *name, const char *value, bool *ret)
{
	const char *nearest;

	*ret = true;
	if (strcmp(name, "config") == 0) {
		free(p->options.config_file);
		return take_path(p, value, &p->options.config_file);
	}
	if (ofs_config_has(name))
		return ofs_config_set(p->options.config, name, value, p->err);
	nearest = ofs_config_nearest(name);
	if (nearest)
		return ofs_error_set(p->err, EINVAL, "unknown option '%s': did you mean '%s'?",
				     name, nearest);
	*ret = false;
	return 0;
}

static int take_option(struct parsing *p, const char *arg, bool *ret)
{
	OFS_FREE char *name = ofs_strndup(arg, strcspn(arg, "="));
	const char *value = strchr(arg, '=');

	*ret = true;
	if (value)
		return take_value(p, name, value + 1, ret);
	if (strcmp(name, "io_uring") == 0)
		return ofs_config_set(p->options.config, "io_uring", "on", p->err);
	if (strcmp(name, "no_io_uring") == 0)
		return ofs_config_set(p->options.config, "io_uring", "off", p->err);
	if (strcmp(name, "allow_other") == 0)
		p->options.allow_other = true;
	if (ofs_config_has(name) || strcmp(name, "config") == 0)
		return ofs_error_set(p->err, EINVAL, "option '%s' needs a value: %s=VALUE", name,
				     name);
	*ret = false;
	return 0;
}

/* Where complaints of libfuse about the command line go; they become part of our one-line error. */
static _Thread_local struct ofs_error *complaint;

static void take_complaint(enum fuse_log_level level, const char *fmt, va_list ap)
{
	size_t len;

	(void)level;
	if (!complaint)
		return;
	if (strncmp(fmt, "fuse: ", 6) == 0)
		fmt += 6;
	len = strlen(complaint->text);
	vsnprintf(complaint->text + len, sizeof(complaint->text) - len, fmt, ap);
	complaint->text[strcspn(complaint->text, "\n")] = 0;
}

void ofs_options_listen(struct ofs_error *err)
{
	complaint = err;
	fuse_set_log_func(err ? take_complaint : NULL);
	if (err)
		err->text[0] = 0;
}

static int process(void *data, const char *arg, int key, struct fuse_args *out)
{
	struct parsing *p = data;
	bool taken;

	(void)out;
	if (key == FUSE_OPT_KEY_NONOPT) {
		if (!p->options.store && strncmp(arg, URL, strlen(URL)) == 0)
			return take_url(p, arg);
		if (!p->options.store)
			return take_path(p, arg, &p->options.store);
		if (!p->options.mountpoint)
			return take_path(p, arg, &p->options.mountpoint);
		ofs_error_set(p->err, EINVAL,
			      "too many arguments at '%s': give STORE and MOUNTPOINT", arg);
		return -1;
	}
	if (arg[0] == '-') {
		ofs_error_set(p->err, EINVAL, "unknown option '%s': see 'offloadfs --help'", arg);
		return -1;
	}
	/* libfuse accepts it, but it only works if the daemon sets the same value. */
	if (strncmp(arg, "max_read=", strlen("max_read=")) == 0) {
		ofs_error_set(
			p->err, EINVAL,
			"option '%s' is not supported: reads are as large as the kernel asks for",
			arg);
		return -1;
	}
	if (take_option(p, arg, &taken) < 0)
		return -1;
	return !taken;
}

int ofs_options_parse(int argc, char **argv, struct ofs_options *ret, struct ofs_error *err)
{
	struct parsing p = {
		.options = {
			.config = ofs_config_create(),
			.mount = FUSE_ARGS_INIT(argc, argv),
		},
		.err = err,
	};
	int r;

	ofs_settings_init(&p.options.context);
	ofs_options_listen(err);
	r = fuse_opt_parse(&p.options.mount, &p, specs, process);
	ofs_options_listen(NULL);
	*ret = p.options;
	if (r < 0)
		return -EINVAL;
	if (ret->help || ret->version)
		return 0;
	if (!ret->store || !ret->mountpoint)
		return ofs_error_set(err, EINVAL,
				     "%s is missing: usage: offloadfs [options] STORE MOUNTPOINT",
				     ret->store ? "MOUNTPOINT" : "STORE");
	if (ret->follow && !ret->url)
		return ofs_error_set(err, EINVAL,
				     "option 'follow' needs a URL, " URL
				     "BUCKET/PREFIX, for STORE");
	if (ret->url && !ret->follow)
		return ofs_error_set(err, EINVAL,
				     "'%s' can only be followed: -o follow does that, 'offload "
				     "restore' takes it over",
				     ret->url);
	return 0;
}

int ofs_options_configure(struct ofs_options *o, struct ofs_error *err)
{
	int r = o->config_file ? ofs_config_load(o->config, o->config_file, err)
			       : ofs_config_load_store(o->config, o->store, err);

	return r < 0 ? r : ofs_settings_load(&o->context, o->store, err);
}

static void print_key(const struct ofs_ini_key *key, FILE *out)
{
	const char *zero = key->number.zero;
	char name[64];

	if (key->type == OFS_INI_NUMBER) {
		snprintf(name, sizeof(name), "%s=%s", key->name, ofs_ini_placeholder(key));
		fprintf(out, "        %-22s %s (default %s%s%s)\n", name, key->text,
			ofs_quantity_show(&key->number, key->preset).text,
			zero && key->preset ? ", or " : "", zero && key->preset ? zero : "");
		return;
	}
	if (key->type == OFS_INI_TEXT) {
		snprintf(name, sizeof(name), "%s=%s", key->name, ofs_ini_placeholder(key));
		fprintf(out, "        %-22s %s\n", name, key->text);
		return;
	}
	fprintf(out, "        %s=", key->name);
	for (int i = 0; key->words[i]; i++)
		fprintf(out, "%s%s", i ? "|" : "", key->words[i]);
	fprintf(out, "\n        %-22s %s\n", "", key->text);
}

static void print_option(const struct ofs_daemon_option *o, int indent, int width, FILE *out)
{
	bool two = o->other && strcmp(o->name, o->other) != 0;
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s%s%s", o->name, two ? ", " : "", two ? o->other : "",
		 !o->value	   ? ""
		 : *o->name == '-' ? " "
				   : "=",
		 o->value ? o->value : "");
	fprintf(out, "%*s%-*s %s\n", indent, "", width, name, o->text);
}

void ofs_options_print_usage(FILE *out)
{
	const struct ofs_daemon_option *o;
	const struct ofs_ini_key *key;

	fputs("usage: offloadfs [options] STORE MOUNTPOINT\n"
	      "\n"
	      "Mounts the store in the directory STORE (created if missing) at MOUNTPOINT, an\n"
	      "empty directory, and goes to the background. 'fusermount3 -u MOUNTPOINT' ends it.\n"
	      "\n",
	      out);
	for (o = ofs_daemon_flags; o->name; o++)
		print_option(o, 4, 18, out);
	for (o = ofs_daemon_words; o->name; o++)
		print_option(o, 8, 22, out);
	fputs("\n"
	      "and these, which the configuration can also set, in lines KEY = VALUE:\n\n",
	      out);
	for (size_t i = 0; (key = ofs_config_key(i)); i++)
		print_key(key, out);
}

void ofs_options_finish(struct ofs_options *o)
{
	free(o->config_file);
	ofs_settings_finish(&o->context);
	ofs_config_destroy(o->config);
	free(o->store);
	free(o->url);
	free(o->mountpoint);
	fuse_opt_free_args(&o->mount);
}
