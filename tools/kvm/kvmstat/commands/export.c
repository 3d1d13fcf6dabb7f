// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat export: the statistics of all VMs for a monitoring system, by HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/export.h"
#include "export/render_openmetrics.h"
#include "model/descriptions.h"
#include "util/util.h"

/* The port contains the number of KVM_CAP_BINARY_STATS_FD. */
#define DEFAULT_LISTEN ":10203"
/* Buckets of each histogram. All of them would fill most of the page. */
#define DEFAULT_BUCKETS 8

int export_parse_options(int argc, char **argv, struct export_options *options)
{
	struct options *parsed = &options->parsed;
	const char *error, *listen;
	int status;

	status = parse_options(COMMAND_EXPORT, argc, argv, parsed);
	if (status != STATUS_OK || parsed->help)
		return status;
	if (parsed->num_arguments)
		return usage_error("export: unexpected argument '%s'", parsed->argument[0]);
	options->scrape = (struct scrape_options) {
		.per_vcpu = parsed->per_vcpu,
		.only = parsed->only,
		.max_buckets = parsed->buckets ?: DEFAULT_BUCKETS,
	};
	memcpy(options->scrape.label, parsed->label, sizeof(parsed->label));
	if (parsed->listen && listen_is_activated())
		return usage_error("export: --listen conflicts with the socket from LISTEN_FDS");
	listen = parsed->listen ?: DEFAULT_LISTEN;
	error = listen_parse(listen, &options->address);
	return error ? usage_error("'%s' %s", listen, error) : STATUS_OK;
}

/* Takes over @fd, the socket that listens. */
static int serve(struct collector *collector, int fd, int signals)
{
	struct server *server = server_open(fd, collector);
	int status;

	if (!server) {
		close(fd);
		return STATUS_ERROR;
	}
	status = confine(USE_NETWORK);
	if (status == STATUS_OK) {
		/* Only hidepid: for single processes there is kvmstat_processes_denied. */
		if (collector->inventory->is_hidden)
			print_denied(collector->inventory);
		print_missing(collector->inventory);
		status = server_run(server, signals);
	}
	server_close(server);
	return status;
}

static int listen_and_serve(struct collector *collector, const struct export_options *options)
{
	struct listen_address address = options->address;
	int fd, status = STATUS_ERROR, signals;
	char *text;

	fd = listen_is_activated() ? listen_take_over(&address) : listen_open(&address);
	if (fd < 0)
		return STATUS_ERROR;
	signals = catch_signals();
	text = listen_describe(&address);
	printf("%s\n", text);
	free(text);
	if (flush_output(&status))
		status = serve(collector, fd, signals);
	else
		close(fd);
	close(signals);
	return status;
}

/* For node_exporter's textfile collector. */
static int print_page(struct collector *collector)
{
	struct inventory *inventory = collector->inventory;
	struct exposition *exposition;
	struct scrape scrape;
	char text[4096];
	size_t length;
	int ret;

	ret = collect(collector, &scrape);
	print_problems(inventory);
	if (ret) {
		print_error("%s: %s", inventory->source->where, strerror(-ret));
		scrape_free(&scrape);
		return STATUS_ERROR;
	}
	exposition = exposition_open(FORMAT_PROMETHEUS, &collector->metrics, &scrape);
	while ((length = exposition_read(exposition, text, sizeof(text))))
		fwrite(text, 1, length, stdout);
	exposition_close(exposition);
	return flush_output(&ret) ? inventory_status(inventory) : ret;
}

int run_export(struct inventory *inventory, const struct export_options *options)
{
	struct collector collector;
	int status;

	collector_init(&collector, inventory, &options->scrape);
	if (!options->parsed.once) {
		status = listen_and_serve(&collector, options);
	} else {
		status = confine(USE_OUTPUT);
		if (status == STATUS_OK)
			status = print_page(&collector);
	}
	collector_free(&collector);
	return status;
}

/* Whether it matches a statistic that kvmstat knows. Other kernels may have others. */
static bool fits_any(const regex_t *only)
{
	const struct description *known;
	size_t from = 0;

	while ((known = find_description("*", &from))) {
		if (known->scope < NUM_SCOPES && !regexec(only, known->name, 0, NULL, 0))
			return true;
	}
	return false;
}

int command_export(int argc, char **argv)
{
	struct export_options options = {};
	struct inventory inventory;
	int status;

	status = export_parse_options(argc, argv, &options);
	if (status == STATUS_OK && !options.parsed.help) {
		if (options.scrape.only && !fits_any(options.scrape.only))
			print_error("no known statistic has a name that matches --stat");
		status = open_inventory(&inventory, &options.parsed.choice);
		if (status == STATUS_OK)
			status = look_for_chosen(&inventory, true);
		if (status == STATUS_OK)
			status = run_export(&inventory, &options);
		inventory_free(&inventory);
	}
	options_free(&options.parsed);
	return status;
}
