/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the programs that measure kvmstat. kvmstat needs shared libraries, so in-host-root
 * starts it in the machine's root filesystem, which has the test's programs in /run/test.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

#define MAX_ARGS	8

/* Sets the limit of files per process; the arguments are IN-ROOT and KVMSTAT. */
static inline void begin(int argc, rlim_t num_files)
{
	struct rlimit files = { num_files, num_files };

	setvbuf(stdout, NULL, _IOLBF, 0);
	check_clock();
	if (argc != 3)
		exit(2);
	sure(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	kvm = sure(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
}

/* Run "kvmstat ARGUMENT..." with @output as standard output, until this process ends. */
static inline pid_t start_kvmstat(const char *in_root, const char *kvmstat,
				  const char *const *args, int output)
{
	char path[256], *argv[MAX_ARGS + 3] = { (char *)in_root, path };
	pid_t pid = sure(fork(), "fork");

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/run/test/%s", kvmstat);
	for (int i = 0; i < MAX_ARGS && args[i]; i++)
		argv[i + 2] = (char *)args[i];
	sure(dup2(output, STDOUT_FILENO), "dup2");
	execvp(in_root, argv);
	fail("%s", in_root);
}

static inline void check_kvmstat(pid_t pid)
{
	errno = ESRCH;
	if (waitpid(pid, NULL, WNOHANG))
		fail("kvmstat ended");
}

/* Starts a process that calls prepare() and keeps what it creates until this process ends. */
static inline void start_process(void (*prepare)(void))
{
	int ready[2];
	char byte;

	sure(pipe2(ready, O_CLOEXEC), "pipe");
	if (!sure(fork(), "fork")) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare();
		if (write(ready[1], "", 1) != 1)
			fail("pipe");
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		fail("a started process ended");
	close(ready[0]);
}

/* The number after @key in a file of "key number" lines; 0 without the file or the key. */
static inline long long number_of(const char *path, const char *key)
{
	long long number = 0;
	char line[256];
	FILE *file;

	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			number = strtoll(line + strlen(key), NULL, 10);
	}
	fclose(file);
	return number;
}

/* The sum of a number in /proc/PID/@name of all processes below @pid. */
static inline long long number_of_children(pid_t pid, const char *name, const char *key)
{
	long long number = 0;
	struct dirent *entry;
	char path[300];
	DIR *proc = opendir("/proc");

	if (!proc)
		fail("/proc");
	while ((entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		if (number_of(path, "PPid:") != pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, name);
		number += number_of(path, key) + number_of_children(atoi(entry->d_name), name, key);
	}
	closedir(proc);
	return number;
}

/*
 * A number in /proc/PID/@name of kvmstat, and in *@children the sum over its children, which
 * do the work that needs privileges.
 */
static inline long long number_of_kvmstat(pid_t pid, const char *name, const char *key,
					  long long *children)
{
	char path[300];

	*children = number_of_children(pid, name, key);
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return number_of(path, key);
}
