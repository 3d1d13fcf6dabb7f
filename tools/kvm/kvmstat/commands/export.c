// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat export: the statistics of all VMs for a monitoring system, by HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/command.h"
#include "commands/export.h"
#include "export/http.h"
#include "export/render_openmetrics.h"
#include "export/scrape.h"
#include "model/descriptions.h"
#include "util/clock.h"
#include "util/util.h"

/* The number of the capability KVM_CAP_BINARY_STATS_FD is in it. */
#define DEFAULT_LISTEN ":10203"
/* Of each histogram: all of them are most of what there is. */
#define DEFAULT_BUCKETS 8

struct exporter {
	struct inventory *inventory;
	struct collector collector;
	struct http_server *server;
	bool has_failed;		/* to read the processes, at the last look */
	bool has_said;			/* that --stat fits nothing */
};

static const char *type_of_page(const char *accept)
{
	return exposition_types[choose_format(accept)];
}

static void *open_page(void *context, const char *accept)
{
	struct exporter *exporter = context;
	struct exposition_server server = {
		.num_connections = http_num_clients(exporter->server),
		.num_dropped = http_num_dropped(exporter->server),
	};
	struct scrape scrape;
	int ret;

	ret = collect(&exporter->collector, monotonic_ns(), &scrape);
	print_problems(exporter->inventory);
	if (ret && !exporter->has_failed)
		print_error("%s: %s", exporter->inventory->source->where, strerror(-ret));
	exporter->has_failed = ret;
	if (metrics_are_none(&exporter->collector.metrics) && !exporter->has_said) {
		print_error("there is no statistic whose name fits --stat");
		exporter->has_said = true;
	}
	if (ret) {
		scrape_free(&scrape);
		return NULL;
	}
	return exposition_open(choose_format(accept), &exporter->collector.metrics, &scrape,
			       &server);
}

static size_t read_page(void *page, char *text, size_t size)
{
	return exposition_read(page, text, size);
}

static void close_page(void *page)
{
	exposition_close(page);
}

static void on_event(void *context)
{
	struct exporter *exporter = context;

	collector_events(&exporter->collector);
}

/* Takes over the listener's file descriptor. */
static int serve(struct exporter *exporter, int fd, int signals, int (*confined)(void))
{
	const struct http_site site = {
		.type = type_of_page,
		.open = open_page,
		.read = read_page,
		.close = close_page,
		.on_event = on_event,
		.events = exporter->inventory->events,
		.context = exporter,
	};
	int ret;

	exporter->server = http_open(fd, &site);
	if (!exporter->server) {
		print_error("libmicrohttpd does not start");
		return STATUS_ERROR;
	}
	ret = confined();
	if (ret == STATUS_OK) {
		/* Of single processes a metric tells. */
		if (exporter->inventory->is_hidden)
			print_denied(exporter->inventory);
		print_missing(exporter->inventory);
		ret = http_serve(exporter->server, signals);
		if (ret)
			print_error("poll: %s", strerror(-ret));
	}
	http_close(exporter->server);
	return ret ? STATUS_ERROR : STATUS_OK;
}

int run_export(struct inventory *inventory, const struct export_options *options,
	       int (*confined)(void))
{
	struct exporter exporter = { .inventory = inventory, };
	struct listen_address address = options->address;
	int fd, status = STATUS_ERROR, signals = catch_signals();
	char *text;

	fd = options->is_activated ? listen_take_over(&address) : listen_open(&address);
	if (fd < 0) {
		close(signals);
		return STATUS_ERROR;
	}
	collector_init(&exporter.collector, inventory, &options->scrape);
	text = listen_describe(&address);
	printf("%s\n", text);
	free(text);
	if (flush_output(&status))
		status = serve(&exporter, fd, signals, confined);
	else
		close(fd);
	collector_free(&exporter.collector);
	close(signals);
	return status;
}

int export_parse_options(int argc, char **argv, struct export_options *options)
{
	struct options *parsed = &options->parsed;
	const char *error, *listen;
	int status;

	status = parse_options(COMMAND_EXPORT, argc, argv, false, parsed);
	if (status != STATUS_OK || parsed->help)
		return status;
	if (parsed->num_arguments)
		return usage_error("export: unexpected argument '%s'", parsed->argument[0]);
	options->scrape.per_vcpu = parsed->per_vcpu;
	options->scrape.only = parsed->only;
	options->scrape.max_buckets = parsed->buckets ?: DEFAULT_BUCKETS;
	memcpy(options->scrape.label, parsed->label, sizeof(parsed->label));
	options->is_activated = listen_is_activated();
	if (parsed->listen && options->is_activated)
		return usage_error("export: --listen, and a socket that is listened on already");
	listen = parsed->listen ?: DEFAULT_LISTEN;
	error = listen_parse(listen, &options->address);
	return error ? usage_error("'%s' %s", listen, error) : STATUS_OK;
}

void export_free_options(struct export_options *options)
{
	options_free(&options->parsed);
}

/* A file for a collector of files, with what is there now. */
static int export_once(struct inventory *inventory, const struct export_options *options)
{
	struct exposition_server server = {};
	struct collector collector;
	struct scrape scrape;
	void *exposition;
	char text[4096];
	size_t length;
	int ret;

	collector_init(&collector, inventory, &options->scrape);
	ret = collect(&collector, monotonic_ns(), &scrape);
	print_problems(inventory);
	if (ret) {
		print_error("%s: %s", inventory->source->where, strerror(-ret));
		scrape_free(&scrape);
	} else {
		exposition = exposition_open(choose_format(NULL), &collector.metrics, &scrape,
					     &server);
		while ((length = exposition_read(exposition, text, sizeof(text))))
			fwrite(text, 1, length, stdout);
		exposition_close(exposition);
	}
	collector_free(&collector);
	return ret ? STATUS_ERROR : inventory_status(inventory);
}

static int confine_export(void)
{
	return confine(USE_NETWORK);
}

/* Of those that kvmstat knows: other kernels have others. */
static bool fits_any(const regex_t *only)
{
	const struct description *known;
	size_t from = 0;

	while ((known = find_description("*", &from))) {
		if (known->scope != REASON && !regexec(only, known->name, 0, NULL, 0))
			return true;
	}
	return false;
}

static int export_chosen(const struct export_options *options)
{
	struct inventory inventory;
	int status;

	if (options->scrape.only && !fits_any(options->scrape.only))
		print_error("no statistic is known whose name fits --stat");
	status = open_inventory(&inventory, &options->parsed.choice);
	if (status == STATUS_OK)
		status = look_for_chosen(&inventory, true);
	if (status == STATUS_OK && options->parsed.once)
		status = confine(USE_OUTPUT);
	if (status == STATUS_OK && options->parsed.once)
		status = export_once(&inventory, options);
	else if (status == STATUS_OK)
		status = run_export(&inventory, options, confine_export);
	inventory_free(&inventory);
	return status;
}

int command_export(int argc, char **argv)
{
	struct export_options options = {};
	int status;

	status = export_parse_options(argc, argv, &options);
	if (status == STATUS_OK && !options.parsed.help)
		status = export_chosen(&options);
	export_free_options(&options);
	return status;
}
