// SPDX-License-Identifier: GPL-2.0
/* Functions that no command line reaches alone: names that others chose, series between scrapes. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "../kvmstat.h"

struct options options;

static unsigned int count;
static bool failed;

static void check(const char *name, const char *got, const char *expected)
{
	bool is_ok = strstr(got, expected);

	failed |= !is_ok;
	printf("%sok %u - %s\n", is_ok ? "" : "not ", ++count, name);
	if (!is_ok)
		printf("#   expected: %s\n#   but got:  %s\n", expected, got);
}

/* The whole name: brackets limit it. */
static void check_name(const char *what, const char *name, const char *expected)
{
	char *text = xasprintf("%s", name), *whole = xasprintf("[%s]", expected), *got;

	make_printable(text);
	got = xasprintf("[%s]", text);
	check(what, got, whole);
	free(text);
	free(whole);
	free(got);
}

static void check_names(void)
{
	check_name("a letter with two marks is a name", "ve\xcc\x82\xcc\x81", "ve\xcc\x82\xcc\x81");
	check_name("a stack of marks is cut", "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81" "b",
		   "a\xcc\x81\xcc\x81??b");
	check_name("a stack of marks above letters is cut", "a\xe2\x83\x90\xef\xb8\xa0\xe1\xb7\x80",
		   "a\xe2\x83\x90\xef\xb8\xa0?");
	check_name("a mark marks something", "\xcc\x81" "a", "?a");
	check_name("an invisible letter is seen", "a\xe3\x85\xa4" "b\xe2\xa0\x80", "a?b?");
	check_name("no character turns the line", "a\xe2\x80\xae" "b", "a?b");
}

static char *scrape(struct vm *vm, size_t vms)
{
	struct host host = { .vm = vm, .count = vms, };
	size_t size;

	return make_openmetrics(&host, false, &size);
}

static void check_series(void)
{
	struct vm vm[2] = {
		{ .key = (char *)"a", .pid = 10, .name = "web", .identity.started = 100, },
		{ .key = (char *)"b", .pid = 20, .name = "web", .identity.started = 200, },
	};
	char *page = scrape(vm, 2);

	check("of VMs with one name the oldest has it", page, "kvm_vm_info{vm=\"web\",pid=\"10\"");
	check("the other one has its start", page, "kvm_vm_info{vm=\"web@2.00\",pid=\"20\"");
	page = scrape(vm + 1, 1);
	check("a VM keeps its series when the oldest ends", page,
	      "kvm_vm_info{vm=\"web@2.00\",pid=\"20\"");
	vm[0] = (struct vm) { .key = (char *)"c", .pid = 30, .name = "web", .identity.started = 300, };
	page = scrape(vm, 2);
	check("a VM that is started again has the bare name", page,
	      "kvm_vm_info{vm=\"web\",pid=\"30\"");
	check("and the other one still has its own", page, "kvm_vm_info{vm=\"web@2.00\",pid=\"20\"");
}

static void check_values(void)
{
	static const struct schema none;
	struct vm vm = { .vcpu_schema = &none, .made = xcalloc(2, sizeof(*vm.made)), };

	check("statistics without values have a sum", line_values(&vm, 0) ? "sum" : "", "sum");
}

int main(void)
{
	setlocale(LC_CTYPE, "C");
	check_names();
	setlocale(LC_CTYPE, "C.UTF-8");
	check_names();
	check_series();
	check_values();
	printf("1..%u\n", count);
	return failed;
}
