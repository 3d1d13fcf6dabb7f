// SPDX-License-Identifier: GPL-2.0
/*
 * Identities of VMs from copies of /proc and /run, as VMMs, libvirt, systemd and kubelet make them,
 * and as an attacker would make them to imitate another VM.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sources/identity.h"
#include "tap.h"
#include "tree.h"
#include "util/util.h"

#define PID 100

static char *proc, *run;

/* Makes a host with one process, in a cgroup without a name of a VM, and no files in /run. */
static void begin(void)
{
	tree_remove("proc");
	tree_remove("run");
	tree_text("vmm\n", "proc/100/comm");
	tree_text("0::/init.scope\n", "proc/100/cgroup");
	tree_text("", "proc/100/cmdline");
	tree_make("run/systemd/machines/");
	tree_make("run/libvirt/qemu/");
}

/* Writes the arguments, with a NUL for each '|'. */
static void set_cmdline(const char *arguments)
{
	char *text = xasprintf("%s", arguments), *bar;

	for (bar = text; (bar = strchr(bar, '|')); )
		*bar++ = '\0';
	tree_write(text, strlen(arguments), "proc/100/cmdline");
	free(text);
}

static void set_cgroup(const char *path)
{
	char *text = xasprintf("0::%s\n", path);

	tree_text(text, "proc/100/cgroup");
	free(text);
}

static const char *source_name(unsigned int source)
{
	static const char * const names[] = {
		[IDENTITY_PROGRAM] = "program",
		[IDENTITY_COMMAND_LINE] = "cmdline",
		[IDENTITY_CGROUP] = "cgroup",
		[IDENTITY_RUN] = "run",
	};

	return names[source];
}

/* Lines of LABEL=TEXT (SOURCE). The caller frees them. */
static char *describe(const struct identity *identity)
{
	char *text = xasprintf("%s", ""), *more;
	size_t i;

	for (i = 0; i < IDENTITY_FIELDS; i++) {
		if (!identity->source[i])
			continue;
		more = xasprintf("%s%s=%s (%s)\n", text, identity_label(i), identity->text[i],
				 source_name(identity->source[i]));
		free(text);
		text = more;
	}
	return text;
}

static void expect(const char *expected, const char *what)
{
	struct identity identity = {};
	char *text;

	identity_read(&identity, proc, run, PID);
	text = describe(&identity);
	check_text(text, expected, what);
	free(text);
}

static void expect_name(const char *arguments, const char *name)
{
	struct identity identity = {};
	char *what = xasprintf("name by %.60s", arguments), *byte;

	for (byte = what; *byte; byte++) {
		if (*byte < ' ' || *byte > '~' || *byte == '#')
			*byte = '?';
	}
	set_cmdline(arguments);
	identity_read(&identity, proc, run, PID);
	check_text(identity.text[IDENTITY_NAME], name, what);
	free(what);
}

static void test_names(void)
{
	begin();
	expect_name("qemu|-name|web1|-m|1G|", "web1");
	expect_name("qemu|-name|guest=web2,debug-threads=on|", "web2");
	expect_name("qemu|-name|debug-threads=on,guest=web3|", "web3");
	expect_name("qemu|-name|web4,process=q|", "web4");
	expect_name("qemu|-name|process=q|", "vmm");
	expect_name("qemu|-name|web5|-name|debug-threads=on|", "web5");
	expect_name("qemu|-name|old|-name|guest=web6|", "web6");
	expect_name("qemu|--name|a,,b|", "a,b");
	expect_name("crosvm|run|--name=web7|", "web7");
	expect_name("qemu|-name|x=y|", "x=y");
	expect_name("qemu|-m|1G|-name|", "vmm");
	expect_name("qemu|-name||", "vmm");
	expect_name("qemu|-name", "vmm");
	expect_name("qemu|-name|web8", "web8");
	expect_name("qemu|-names|x|name|y|", "vmm");
	expect_name("vmm|", "vmm");
	expect_name("", "vmm");
	expect_name("qemu|-name|B\303\274cher|", "B\303\274cher");
	expect_name("qemu|-name|evil\033]0;\tx\r\n\233\302\233|", "evil?]0;?x????");
	expect_name("qemu|-name|\342\200\256gnp.exe|", "?gnp.exe");
	set_cmdline("");
	tree_text("\033[2J\n", "proc/100/comm");
	expect("name=?[2J (program)\n", "the program's name cannot harm a terminal");
}

#define UUID "4d7fd2c3-8f0a-4b8e-9a54-1f2e3d4c5b6a"
#define PLAIN_UUID "4d7fd2c38f0a4b8e9a541f2e3d4c5b6a"
#define OTHER_UUID "11111111-2222-3333-4444-555555555555"

static void test_uuids(void)
{
	static const char expected[] = "name=web (cmdline)\nuuid=" UUID " (cmdline)\n";
	static const char none[] = "name=web (cmdline)\n";

	begin();
	set_cmdline("qemu|-name|web|-uuid|" UUID "|");
	expect(expected, "uuid: QEMU's option");
	set_cmdline("qemu|-name|web|-uuid|4D7FD2C3-8F0A-4B8E-9A54-1F2E3D4C5B6A|");
	expect(expected, "uuid: in lower case");
	set_cmdline("qemu|-name|web|-smbios|type=1,manufacturer=a,,b,uuid=" UUID "|");
	expect(expected, "uuid: by -smbios");
	set_cmdline("qemu|-name|web|-smbios|type=1,uuid=" OTHER_UUID "|-uuid|" UUID "|");
	expect(expected, "uuid: QEMU's own is the surer one");
	set_cmdline("qemu|-name|web|-smbios|type=3,uuid=" OTHER_UUID "|");
	expect(none, "uuid: no other table");
	set_cmdline("qemu|-name|web|-uuid|" UUID "0|");
	expect(none, "uuid: too long");
	set_cmdline("qemu|-name|web|-uuid|4d7fd2c3-8f0a-4b8e-9a54-1f2e3d4c5b6|");
	expect(none, "uuid: too short");
	set_cmdline("qemu|-name|web|-uuid|4d7fd2c3-8f0a-4b8e-9a54-1f2e3d4c5b6\303\274|");
	expect(none, "uuid: not hexadecimal");
}

#define LIBVIRT_SCOPE "machine-qemu\\x2d3\\x2dweb\\x2d1.scope"
#define LIBVIRT_CGROUP "/machine.slice/" LIBVIRT_SCOPE
#define OF_SCOPE "machine=qemu-3-web-1 (cgroup)\n"

static void test_libvirt(void)
{
	begin();
	set_cmdline("/usr/bin/qemu-system-x86_64|-name|guest=web-1,debug-threads=on|-uuid|"
		    UUID "|");
	set_cgroup(LIBVIRT_CGROUP "/libvirt/emulator");
	expect("name=web-1 (cgroup)\nuuid=" UUID " (cmdline)\nlibvirt_domain=web-1 (cgroup)\n"
	       OF_SCOPE, "libvirt: by the cgroup");
	set_cgroup("/machine.slice/machine-gold.slice/" LIBVIRT_SCOPE);
	expect("name=web-1 (cgroup)\nuuid=" UUID " (cmdline)\nlibvirt_domain=web-1 (cgroup)\n"
	       OF_SCOPE, "libvirt: in a slice of its own");
	set_cgroup("/../.." LIBVIRT_CGROUP);
	expect("name=web-1 (cgroup)\nuuid=" UUID " (cmdline)\nlibvirt_domain=web-1 (cgroup)\n"
	       OF_SCOPE, "libvirt: seen out of a cgroup namespace");

	tree_link("qemu-3-web-1", "run/systemd/machines/unit:" LIBVIRT_SCOPE);
	tree_text("# This is private data. Do not parse.\nNAME=qemu-3-web-1\nCLASS=vm\n"
		   "ID=" PLAIN_UUID "\nSERVICE=libvirt-qemu\nLEADER=100\n",
		   "run/systemd/machines/qemu-3-web-1");
	tree_text("100\n", "run/libvirt/qemu/web-1.pid");
	expect("name=web-1 (run)\nuuid=" UUID " (run)\nlibvirt_domain=web-1 (run)\n"
	       "machine=qemu-3-web-1 (run)\n",
	       "libvirt: by its files");
	set_cmdline("/usr/bin/qemu-system-x86_64|-name|guest=web-1|-uuid|" OTHER_UUID "|");
	expect("name=web-1 (run)\nuuid=" UUID " (run)\nlibvirt_domain=web-1 (run)\n"
	       "machine=qemu-3-web-1 (run)\n",
	       "libvirt: machined's UUID is more reliable");

	begin();
	set_cmdline("qemu|-name|web|");
	tree_text("9:cpu,cpuacct:/machine/gold.partition/qemu-3-web.libvirt-qemu/emulator\n"
		   "1:name=systemd:/system.slice\n", "proc/100/cgroup");
	expect("name=web (cgroup)\nlibvirt_domain=web (cgroup)\nmachine=qemu-3-web (cgroup)\n",
	       "libvirt: without systemd");

	begin();
	set_cmdline("qemu|-name|web|-object|secret,file=/var/lib/libvirt/qemu/domain-1-web/key|");
	expect("name=web (cmdline)\nlibvirt_domain=web (cmdline)\n",
	       "libvirt: only the command line");
	tree_text("100", "run/libvirt/qemu/web.pid");
	expect("name=web (run)\nlibvirt_domain=web (run)\n", "libvirt: and the pid file");
}

/* Names in cgroups lack some characters. */
static void test_short_names(void)
{
	static const char long_name[] =
		"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
	char *cgroup = xasprintf("/machine.slice/machine-qemu\\x2d3\\x2d%.57s.scope", long_name);
	char *cmdline = xasprintf("qemu|-name|%s|", long_name);
	struct identity identity = {};

	begin();
	set_cgroup("/machine.slice/machine-qemu\\x2d3\\x2dmywebnchen.scope");
	set_cmdline("qemu|-name|my_web\303\274nchen|");
	identity_read(&identity, proc, run, PID);
	check_text(identity.text[IDENTITY_DOMAIN], "my_web\303\274nchen",
		   "short name: the whole one");
	check_number(identity.source[IDENTITY_DOMAIN], IDENTITY_COMMAND_LINE,
		     "short name: reliable as the command line, as other names shorten to it");
	tree_text("100\n", "run/libvirt/qemu/my_web\303\274nchen.pid");
	identity_read(&identity, proc, run, PID);
	check_number(identity.source[IDENTITY_DOMAIN], IDENTITY_RUN,
		     "short name: reliable with a pid file");
	set_cgroup(cgroup);
	set_cmdline(cmdline);
	identity_read(&identity, proc, run, PID);
	check_text(identity.text[IDENTITY_DOMAIN], long_name, "long name: the whole one");
	free(cmdline);
	free(cgroup);
}

/* A VMM claims names that contradict its cgroup. */
static void test_pretenders(void)
{
	char *path;

	begin();
	set_cgroup(LIBVIRT_CGROUP);
	set_cmdline("qemu|-name|bank|");
	tree_text("99\n", "run/libvirt/qemu/bank.pid");
	expect("name=web-1 (cgroup)\nlibvirt_domain=web-1 (cgroup)\n" OF_SCOPE,
	       "pretender: another name than the cgroup's");
	set_cmdline("qemu|-name|web-1-bank|");
	expect("name=web-1 (cgroup)\nlibvirt_domain=web-1 (cgroup)\n" OF_SCOPE,
	       "pretender: a longer name");
	set_cmdline("qemu|-name|web-|");
	expect("name=web-1 (cgroup)\nlibvirt_domain=web-1 (cgroup)\n" OF_SCOPE,
	       "pretender: a shorter name");

	set_cmdline("qemu|-name|web|");
	set_cgroup("/user.slice/user-1000.slice/user@1000.service" LIBVIRT_CGROUP);
	expect("name=web (cmdline)\n", "pretender: a cgroup of a user");
	set_cgroup("/docker/0123" LIBVIRT_CGROUP);
	expect("name=web (cmdline)\n", "pretender: a cgroup of a container");
	set_cgroup("/user.slice/kubepods/pod" UUID);
	expect("name=web (cmdline)\n", "pretender: a pod of a user");
	set_cgroup("/user.slice/firecracker/bank");
	expect("name=web (cmdline)\n", "pretender: a jail of a user");

	begin();
	set_cmdline("qemu|-name|../../evil|");
	tree_text("100\n", "run/evil.pid");
	expect("name=../../evil (cmdline)\n", "pretender: a name that leads elsewhere");
	set_cmdline("qemu|-name|web|");
	tree_text("100\n", "evil.pid");
	tree_link("../../../evil.pid", "run/libvirt/qemu/web.pid");
	expect("name=web (cmdline)\n", "pretender: a link for a pid file");
	path = tree_path("run/libvirt/qemu/web.pid");
	if (unlink(path) || mkfifo(path, 0644))
		abort();
	alarm(20);
	expect("name=web (cmdline)\n", "pretender: a pipe without a writer for a pid file");
	alarm(0);
	if (unlink(path))
		abort();
	tree_text("100\n", "run/libvirt/qemu/web.pid");
	expect("name=web (run)\nlibvirt_domain=web (run)\n", "no pretender: a pid file");
	if (chmod(path, 0666))
		abort();
	expect("name=web (cmdline)\n", "pretender: a pid file that others can write");
	if (chmod(path, 0644))
		abort();
	if (!chown(path, 12345, -1))
		expect("name=web (cmdline)\n", "pretender: a pid file of another user");
	else
		skip("not root", "pretender: a pid file of another user");
	free(path);

	begin();
	set_cmdline("qemu|-name|web|");
	tree_text("100\n", "run/libvirt/qemu/web.pid");
	path = tree_path("run/libvirt/qemu");
	if (chmod(path, 0777))
		abort();
	expect("name=web (cmdline)\n", "pretender: a directory that others can write");
	free(path);
	tree_text("100 or so\n", "run/libvirt/qemu/web.pid");
	expect("name=web (cmdline)\n", "pretender: a pid file without a pid");
}

static void test_machined(void)
{
	begin();
	set_cmdline("qemu|-name|vm|");
	set_cgroup("/machine.slice/systemd-vmspawn@fedora.service/payload");
	expect("name=vm (cmdline)\n", "machined: a unit");
	tree_link("fedora", "run/systemd/machines/unit:systemd-vmspawn@fedora.service");
	tree_text("NAME=fedora\nID=" PLAIN_UUID "\nCLASS=vm\n", "run/systemd/machines/fedora");
	expect("name=vm (cmdline)\nuuid=" UUID " (run)\nmachine=fedora (run)\n",
	       "machined: the machine of the unit");
	set_cmdline("qemu|");
	expect("name=fedora (run)\nuuid=" UUID " (run)\nmachine=fedora (run)\n",
	       "machined: names a VM without a name");

	begin();
	set_cgroup("/machine.slice/machine-a.scope");
	tree_link("../../b", "run/systemd/machines/unit:machine-a.scope");
	tree_text("ID=" PLAIN_UUID "\n", "run/b");
	expect("name=a (cgroup)\nmachine=a (cgroup)\n",
	       "machined: a link that leads elsewhere");
	set_cgroup("/machine.slice/machine-a\\x1b\\x00\\xzz.scope");
	expect("name=vmm (program)\n",
	       "machined: a scope without a machine");
	set_cgroup("/machine.slice/a/b.scope");
	expect("name=vmm (program)\n", "machined: a cgroup that is no unit");
	set_cgroup("/machine.slice");
	expect("name=vmm (program)\n", "machined: nothing but its slice");
}

#define OF_POD "pod_uid=" UUID " (cgroup)\n"
#define POD_SLICE "kubepods-burstable-pod4d7fd2c3_8f0a_4b8e_9a54_1f2e3d4c5b6a.slice"

static void test_kubevirt(void)
{
	static const char expected[] =
		"name=shop_db.1 (cmdline)\nlibvirt_domain=shop_db.1 (cmdline)\n"
		"kubevirt_namespace=shop (cmdline)\nkubevirt_vmi=db.1 (cmdline)\n" OF_POD;
	static const char cmdline[] =
		"qemu|-name|guest=shop_db.1|-object|secret,file=/run/kubevirt/libvirt/qemu/key|";

	begin();
	set_cmdline(cmdline);
	set_cgroup("/kubepods.slice/kubepods-burstable.slice/" POD_SLICE "/cri-0123.scope");
	expect(expected, "KubeVirt: kubelet with systemd");
	set_cgroup("/kubelet.slice/kubelet-kubepods.slice/kubelet-" POD_SLICE "/cri-0123.scope");
	expect(expected, "KubeVirt: below kubelet");
	set_cgroup("/kubepods/pod" UUID "/0123");
	expect(expected, "KubeVirt: kubelet without systemd");
	set_cgroup("/kubepods/besteffort/pod" UUID "/0123/kubepods/pod" OTHER_UUID);
	expect(expected, "KubeVirt: not the pod that is made in a pod");
	set_cgroup("/kubepods/besteffort/podx/pod" OTHER_UUID);
	expect("name=shop_db.1 (cmdline)\nlibvirt_domain=shop_db.1 (cmdline)\n",
	       "KubeVirt: no pod");
	set_cgroup("/system.slice");
	expect("name=shop_db.1 (cmdline)\nlibvirt_domain=shop_db.1 (cmdline)\n",
	       "KubeVirt: outside of a pod no names");

	set_cgroup("/kubepods/pod" UUID "/0123");
	set_cmdline("qemu|-name|shop_db|");
	expect("name=shop_db (cmdline)\n" OF_POD, "KubeVirt: QEMU in any other pod");
	set_cmdline("qemu|-name|sandbox-1|-smbios|type=1,manufacturer=KubeVirt|");
	expect("name=sandbox-1 (cmdline)\n" OF_POD, "KubeVirt: no namespace");
	set_cmdline("qemu|-name|Shop_db|-smbios|type=1,manufacturer=KubeVirt|");
	expect("name=Shop_db (cmdline)\n" OF_POD, "KubeVirt: what can be no namespace");
	set_cmdline("qemu|-name|shop_-db|-smbios|type=1,manufacturer=KubeVirt|");
	expect("name=shop_-db (cmdline)\n" OF_POD, "KubeVirt: what can be no VMI");
}

static void test_firecracker(void)
{
	begin();
	expect_name("/firecracker|--id|vm-7|--start-time-us|1|--api-sock|/run/fc.socket|", "vm-7");
	expect_name("firecracker|--id|no/id|", "vmm");
	expect_name("firecracker|--api-sock|/srv/vms/web/api.socket|", "web");
	expect_name("qemu|-name|web|--id|vm-7|", "web");
	tree_text("firecracker\n", "proc/100/comm");
	expect_name("/usr/bin/wrapper|--id=vm-8|", "vm-8");
	tree_text("5:cpuset:/firecracker-v1.7/vm-7\n0::/\n", "proc/100/cgroup");
	set_cmdline("firecracker|--id|bank|");
	expect("name=vm-7 (cgroup)\n", "Firecracker: the jail is the surer one");
}

static void test_cloud_hypervisor(void)
{
	begin();
	set_cmdline("cloud-hypervisor|--api-socket|/run/ch/web.sock|--platform|n=2,uuid=" UUID "|");
	expect("name=web (cmdline)\nuuid=" UUID " (cmdline)\n", "cloud-hypervisor: its options");
	expect_name("/opt/cloud-hypervisor-static|--api-socket=path=/run/vc/vm/web/clh-api.sock|",
		    "web");
	expect_name("cloud-hypervisor|--api-socket|fd=3|", "vmm");
	expect_name("cloud-hypervisor|--api-socket|/api.sock|", "vmm");
	set_cgroup("/machine.slice/machine-ch\\x2d3\\x2dweb.scope");
	set_cmdline("cloud-hypervisor|--api-socket|/run/libvirt/ch/other-socket|");
	expect("name=web (cgroup)\nlibvirt_domain=web (cgroup)\nmachine=ch-3-web (cgroup)\n",
	       "cloud-hypervisor: started by libvirt");
}

/* Writes @size bytes: @fill, except an argument @text at @offset. */
static void set_huge_cmdline(size_t size, char fill, size_t offset, const char *text,
			     size_t length)
{
	char *cmdline = xcalloc(size, 1);

	memset(cmdline, fill, size);
	memcpy(cmdline + offset, text, length);
	tree_write(cmdline, size, "proc/100/cmdline");
	free(cmdline);
}

#define NAME_ARGUMENTS "\0-name\0web\0"

static void test_huge(void)
{
	const size_t last = IDENTITY_CMDLINE - sizeof(NAME_ARGUMENTS);
	struct identity identity = {};
	char *name, *cmdline;

	begin();
	set_huge_cmdline(4 << 20, 'x', last, NAME_ARGUMENTS, sizeof(NAME_ARGUMENTS) - 1);
	expect("name=web (cmdline)\n", "huge: the last argument that is read");
	set_huge_cmdline(4 << 20, 'x', last + 1, NAME_ARGUMENTS, sizeof(NAME_ARGUMENTS) - 1);
	expect("name=vmm (program)\n", "huge: an argument that is cut off is none");
	set_huge_cmdline(4 << 20, 'x', 4000, NAME_ARGUMENTS, sizeof(NAME_ARGUMENTS) - 1);
	expect("name=web (cmdline)\n", "huge: behind as much as there was room for once");
	set_huge_cmdline(4 << 20, '\0', 0, "", 0);
	expect("name=vmm (program)\n", "huge: nothing but empty arguments");
	set_huge_cmdline(4 << 20, ',', 0, "qemu\0-name\0", 11);
	expect("name=vmm (program)\n", "huge: nothing but commas");

	name = xcalloc(3001, 1);
	memset(name, 'x', 3000);
	memcpy(name + TEXT_NAME_SIZE - 2, "\303\274", 2);
	cmdline = xasprintf("qemu|-name|%s|", name);
	set_cmdline(cmdline);
	identity_read(&identity, proc, run, PID);
	check_number(strlen(identity.text[IDENTITY_NAME]), TEXT_NAME_SIZE - 2,
		     "huge: a name is cut off between two characters");
	check(identity_is_valid(&identity), "huge: the identity is valid");
	free(cmdline);
	memset(name, '\200', 3000);
	cmdline = xasprintf("qemu|-name|%s|", name);
	set_cmdline(cmdline);
	identity_read(&identity, proc, run, PID);
	check(strspn(identity.text[IDENTITY_NAME], "?") == TEXT_NAME_SIZE - 1,
	      "huge: bytes that are not text become '?'");
	free(cmdline);

	/* The line is cut off: its path may be another one. */
	memset(name, '/', 3000);
	cmdline = xasprintf("0::/machine.slice/machine-a.scope%s%s%s%s%s%s", name, name, name,
			    name, name, name);
	tree_text(cmdline, "proc/100/cgroup");
	set_cmdline("");
	expect("name=vmm (program)\n", "huge: a cgroup");
	free(cmdline);
	free(name);
}

static void test_missing(void)
{
	struct identity identity = {};

	begin();
	set_cmdline("qemu|-name|web|");
	tree_text("100\n", "run/libvirt/qemu/web.pid");
	identity_read(&identity, proc, NULL, PID);
	check_number(identity.source[IDENTITY_NAME], IDENTITY_COMMAND_LINE,
		     "without /run: the command line");
	identity_read(&identity, proc, "/nonexistent", PID);
	check_number(identity.source[IDENTITY_NAME], IDENTITY_COMMAND_LINE,
		     "a /run that is not there: the command line");
	identity_read(&identity, proc, run, PID + 1);
	check(!identity.text[IDENTITY_NAME][0] && identity_is_valid(&identity),
	      "no such process: nothing");
	tree_remove("proc/100");
	tree_make("proc/100/");
	identity_read(&identity, proc, run, PID);
	check(!identity.text[IDENTITY_NAME][0] && identity_is_valid(&identity),
	      "a process without files: nothing");
}

static void test_valid(void)
{
	struct identity identity = {};

	identity_of_name(&identity, "w\303\274b\033");
	check_text(identity.text[IDENTITY_NAME], "w\303\274b?",
		   "identity_of_name: the name, printable");
	check(identity_is_valid(&identity), "valid: a name");
	identity.text[IDENTITY_NAME][1] = '\n';
	check(!identity_is_valid(&identity), "not valid: an unprintable character");
	memset(identity.text[IDENTITY_NAME], 'x', TEXT_NAME_SIZE);
	check(!identity_is_valid(&identity), "not valid: no NUL at the end");
	identity_of_name(&identity, "web");
	identity.source[IDENTITY_NAME] = IDENTITY_RUN + 1;
	check(!identity_is_valid(&identity), "not valid: an unknown source");
	identity.source[IDENTITY_NAME] = IDENTITY_NONE;
	check(!identity_is_valid(&identity), "not valid: a text without a source");
	identity_of_name(&identity, "");
	identity.source[IDENTITY_UUID] = IDENTITY_RUN;
	check(!identity_is_valid(&identity), "not valid: a source without a text");
}

int main(void)
{
	tree_begin();
	proc = tree_path("proc");
	run = tree_path("run");
	test_names();
	test_uuids();
	test_libvirt();
	test_short_names();
	test_pretenders();
	test_machined();
	test_kubevirt();
	test_firecracker();
	test_cloud_hypervisor();
	test_huge();
	test_missing();
	test_valid();
	tree_end();
	free(run);
	free(proc);
	return tap_end();
}
