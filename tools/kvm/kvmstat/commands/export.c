// SPDX-License-Identifier: GPL-2.0
/*
 * kvmstat export: the statistics of all VMs for a monitoring system, by HTTP.
 */
#include <getopt.h>
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

/*
 * Not what is another one each time that the VM is started: no series would last longer than
 * the process.
 */
static int label_error(const char *name)
{
	char *names, *longer;
	int status;
	size_t i;

	if (!strcmp(name, "pid") || !strcmp(name, "id"))
		return usage_error("with the label '%s' a VM's series begin anew when it starts",
				   name);
	names = xasprintf("%s", "");
	for (i = 0; i < IDENTITY_FIELDS; i++) {
		longer = xasprintf("%s%s%s", names, i ? ", " : "", identity_label(i));
		free(names);
		names = longer;
	}
	status = usage_error("'%s' is no label of whose VM it is: %s", name, names);
	free(names);
	return status;
}

static int parse_label(const char *name, bool *label)
{
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		if (!strcmp(name, identity_label(i))) {
			label[i] = true;
			return STATUS_OK;
		}
	}
	return label_error(name);
}

int export_parse_options(int argc, char **argv, struct export_options *options)
{
	static const struct option long_options[] = {
		{ "listen", required_argument, NULL, 'l', },
		{ "per-vcpu", no_argument, NULL, 'v', },
		{ "label", required_argument, NULL, 'b', },
		{ "buckets", required_argument, NULL, 'k', },
		STAT_OPTION,
		PID_OPTION,
		HELP_OPTION,
		{},
	};
	const char *listen = NULL;
	const char *error;
	int option, status;

	while ((option = getopt_long(argc, argv, ":" VM_OPTIONS, long_options, NULL)) != -1) {
		switch (option) {
		case 'l':
			if (listen)
				return usage_error("--listen ADDRESS is there twice");
			listen = optarg;
			break;
		case 'v':
			options->scrape.per_vcpu = true;
			break;
		case 'b':
			status = parse_label(optarg, options->scrape.label);
			if (status != STATUS_OK)
				return status;
			break;
		case 'k':
			if (options->scrape.max_buckets)
				return usage_error("--buckets N is there twice");
			if (parse_number(optarg, 1, UINT32_MAX, &options->scrape.max_buckets))
				return usage_error("'%s' is not a number of buckets", optarg);
			break;
		case 's':
			status = parse_stat(&options->only, &options->scrape.only);
			if (status != STATUS_OK)
				return status;
			break;
		default:
			status = parse_vm_option(option, argv, &options->vms);
			if (status != STATUS_OK || options->vms.help)
				return status;
		}
	}
	if (optind < argc)
		return usage_error("export: unexpected argument '%s'", argv[optind]);
	options->is_activated = listen_is_activated();
	if (listen && options->is_activated)
		return usage_error("export: --listen, and a socket that is listened on already");
	if (!listen)
		listen = DEFAULT_LISTEN;
	error = listen_parse(listen, &options->address);
	return error ? usage_error("'%s' %s", listen, error) : STATUS_OK;
}

void export_free_options(struct export_options *options)
{
	if (options->scrape.only)
		regfree(&options->only);
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
	status = open_inventory(&inventory, &options->vms.choice);
	if (status == STATUS_OK)
		status = look_for_chosen(&inventory, true);
	if (status == STATUS_OK)
		status = run_export(&inventory, options, confine_export);
	inventory_free(&inventory);
	return status;
}

int command_export(int argc, char **argv)
{
	struct export_options options = {};
	int status;

	status = export_parse_options(argc, argv, &options);
	if (status == STATUS_OK && options.vms.help)
		status = command_help(1, argv);
	else if (status == STATUS_OK)
		status = export_chosen(&options);
	export_free_options(&options);
	return status;
}
