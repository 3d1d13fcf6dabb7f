// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of CSV (RFC 4180). The cells come from JSON objects.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render/render_csv.h"
#include "util/clock.h"
#include "util/util.h"

#define VM_COLUMNS "pid,id,name,vcpus"
#define SCALE_COLUMNS ",unit=.unit,base=.base,exponent=.exponent"
#define SUBJECT_COLUMNS VM_COLUMNS ",scope,vcpu,statistic"

const char csv_sample_table[] =
	"time,interval_s=interval," VM_COLUMNS ",scope=.scope,statistic=.statistic" SCALE_COLUMNS
	",value=.value|.count,delta=.delta,per_s=.rate";
const char csv_group_table[] =
	SUBJECT_COLUMNS "=.statistic" SCALE_COLUMNS ",type=.type,value=.value|.count,"
	"value_name=.name,interval_s=interval,guest=shares/guest,kvm=shares/kvm,vmm=shares/vmm,"
	"ready=shares/ready,wait=shares/wait,idle=shares/idle,off=shares/off,"
	"shares_source=shares/source";
const char csv_histogram_table[] =
	"time,interval_s=interval," SUBJECT_COLUMNS ",unit=histogram/unit,base=histogram/base,"
	"exponent=histogram/exponent,bucket=.name,from=.from,to=.to,count=.count|.value";
const char csv_event_table[] =
	"time," VM_COLUMNS ",state,scope,vcpu,statistic,unit=watched/unit,base=watched/base,"
	"exponent=watched/exponent,part=watched/buckets/name|watched/values/name,"
	"from=watched/buckets/from,to=watched/buckets/to,threshold=watched/threshold,"
	"window_s=window,growth=watched/growth|watched/level";
const char csv_recording_table[] =
	"host,release,machine,version,pid,interval_s=interval,first,last,length_s=length,samples";

static void print_quoted(FILE *file, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

/* A duration in nanoseconds, or a time in microseconds, as UTC. */
static void print_seconds(FILE *file, uint64_t value, int exponent)
{
	time_t moment = value / 1000000;
	char date[32];
	struct tm tm;

	if (exponent == -9) {
		fprintf(file, "%llu.%09llu", (unsigned long long)(value / NSEC_PER_SEC),
			(unsigned long long)(value % NSEC_PER_SEC));
		return;
	}
	gmtime_r(&moment, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(file, "%s.%06lluZ", date, (unsigned long long)(value % 1000000));
}

/* An unknown value is empty. A bucket is printed as its upper bound. */
static void print_cell(FILE *file, struct json_object *value)
{
	struct json_object *number, *exponent;

	if (!json_object_is_type(value, json_type_object)) {
		print_quoted(file, value ? json_object_get_string(value) : "");
	} else if (json_object_object_get_ex(value, "to", &number)) {
		fputs(number ? json_object_get_string(number) : "inf", file);
	} else if (json_object_object_get_ex(value, "value", &number)) {
		if (json_object_object_get_ex(value, "exponent", &exponent))
			print_seconds(file, json_object_get_uint64(number),
				      json_object_get_int(exponent));
		else
			fputs(json_object_get_string(number), file);
	}
}

/* The value of the first path that has one. */
static struct json_object *find_cell(const char *paths, struct json_object *line,
				     struct json_object *row)
{
	char *rest = xasprintf("%s", paths), *copy = rest, *path, *pointer;
	struct json_object *found = NULL;

	while (!found && (path = strsep(&rest, "|"))) {
		pointer = xasprintf("/%s", path + (*path == '.'));
		if (json_pointer_get(*path == '.' ? row : line, pointer, &found))
			found = NULL;
		free(pointer);
	}
	free(copy);
	return found;
}

void csv_print_row(FILE *file, const char *table, struct json_object *line,
		   struct json_object *row)
{
	char *rest = xasprintf("%s", table), *copy = rest, *paths, *title;
	const char *comma = "";

	while ((paths = strsep(&rest, ","))) {
		title = strsep(&paths, "=");
		fputs(comma, file);
		comma = ",";
		if (line)
			print_cell(file, find_cell(paths ?: title, line, row));
		else
			fputs(title, file);
	}
	fputs("\r\n", file);
	free(copy);
}
