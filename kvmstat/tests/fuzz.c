// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz frames|recording|identity RUNS FILE...: changes what kvmstat reads, at random but each
 * time in the same way, and lets it judge, print and export that. The files are recordings:
 *
 *	frames		changes the files in two samples: statistics files, /proc, cgroups
 *	recording	changes the bytes of the recording, or what is compressed in it
 *	identity	changes what tells the name of a VM
 *
 * A find is what the sanitizers report.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "../kvmstat.h"

struct options options;

/* Inputs for one process: hosts and schemas keep what they took until it ends. */
#define BATCH UINT64_C(2000)

static uint64_t state = 88172645463325252;

/* A number below @end */
static size_t below(size_t end)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return end ? state % end : 0;
}

/* Changes a few bytes, numbers or digits, or cuts the end off. Returns the size. */
static size_t change(unsigned char *data, size_t size)
{
	static const uint32_t numbers[] = { 0, 1, 7, 8, 48, 255, 4095, 4096, 65535, 1 << 20, INT32_MAX, UINT32_MAX, };
	static const char words[] = "0123456789 :/()\n=-,.@%\\\"";
	size_t i, at, from, times = 1 + below(4);

	for (i = 0; i < times && size; i++) {
		/* Headers matter more than their size. */
		at = below(size > 64 && !below(4) ? 64 : size);
		switch (below(6)) {
		case 0:
			data[at] ^= 1 << below(8);
			break;
		case 1:
			data[at] = below(256);
			break;
		case 2:
			data[at] = words[below(sizeof(words) - 1)];
			break;
		case 3:
			at &= ~3;
			if (at + 4 <= size)
				memcpy(data + at, &numbers[below(ARRAY_SIZE(numbers))], 4);
			break;
		case 4:
			from = below(size);
			memmove(data + at, data + from, below(size - (at > from ? at : from)));
			break;
		default:
			if (!below(4))
				size = at;
		}
	}
	return size;
}

static struct frame copy_frame(const struct frame *from)
{
	struct frame to = { .real_ns = from->real_ns, .mono_ns = from->mono_ns, };
	const struct entry *entry;
	size_t i, changed = below(from->count);

	for (i = 0; i < from->count; i++) {
		entry = &from->entry[i];
		/* A NUL follows what was read. */
		unsigned char *data = xcalloc(entry->size + 1, 1);
		size_t size = entry->size;

		memcpy(data, entry->data, size);
		if (i == changed || !below(50))
			size = change(data, size);
		data = realloc(data, size + 1);
		data[size] = '\0';
		if (below(100))
			frame_add(&to, data, size, "%s", entry->name);
		else
			free(data);
	}
	return to;
}

static void use(struct host *host)
{
	size_t i, size;

	for (i = 0; i < host->count; i++) {
		free(why_sentence(&host->vm[i]));
		line_values(&host->vm[i], 0);
		line_growth(&host->vm[i], 0);
	}
	if (!below(8))
		free(make_openmetrics(host, below(2), &size));
}

static void fuzz_frames(uint64_t runs, struct frame *frame, size_t count)
{
	struct host host = {};
	struct frame changed;
	uint64_t i;

	for (i = 0; i < runs; i++) {
		changed = copy_frame(&frame[below(count)]);
		changed.mono_ns = host.mono_ns + SEC * below(7);
		host_take(&host, &changed);
		use(&host);
		frame_free(&changed);
	}
}

static size_t read_frames(const char *path, struct frame **frames, size_t count)
{
	struct source *source = recording_open(path);

	while (source && count < 200) {
		*frames = xgrow(*frames, count, sizeof(**frames));
		if (!source->next(source, &(*frames)[count], 0))
			break;
		count++;
	}
	return count;
}

#define MOST_BYTES (4u << 20)

/* Packs or unpacks a stream of zlib. Returns the size, or 0. */
static size_t pack(unsigned char *to, const unsigned char *from, size_t size, int bits, bool is_unpacked)
{
	z_stream stream = {
		.next_in = (unsigned char *)from, .avail_in = size, .next_out = to, .avail_out = MOST_BYTES,
	};
	bool is_whole;

	if (is_unpacked) {
		inflateInit2(&stream, bits);
		is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
		inflateEnd(&stream);
	} else {
		deflateInit2(&stream, Z_NO_COMPRESSION, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY);
		is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
		deflateEnd(&stream);
	}
	return is_whole ? stream.total_out : 0;
}

/*
 * Changes what is inside of a sample, and gives it the right checksum, so that more than checksums
 * is tested. Headers have 40 bytes: of a gzip member, or of a block in the format before this one.
 */
static size_t change_inside(unsigned char *to, const unsigned char *from, size_t size)
{
	static unsigned char content[MOST_BYTES];
	bool is_old = size > 16 && from[0] == 0x8b, is_stored;
	size_t at = is_old ? 16 : 0, done = at, chosen = below(3), length, packed;
	uint32_t word[10], end[2];

	memcpy(to, from, at);
	for (; at + sizeof(word) <= size; at += packed, chosen--) {
		memcpy(word, from + at, sizeof(word));
		packed = is_old ? sizeof(word) + word[1] : word[4];
		if (chosen) {
			memcpy(to + done, from + at, packed);
			done += packed;
			continue;
		}
		is_stored = is_old && word[1] == word[2];
		length = is_stored ? word[1] :
			 pack(content, from + at + 40, packed - 40, is_old ? 15 : -15, true);
		if (is_stored)
			memcpy(content, from + at + 40, length);
		length = change(content, length);
		end[0] = crc32(0, content, length);
		end[1] = length;
		if (is_old) {
			memcpy(to + done + 40, content, length);
			word[1] = word[2] = length;
			word[3] = end[0];
			word[9] = crc32(0, (void *)word, 36);
		} else {
			length = pack(to + done + 40, content, length, -15, false);
			memcpy(to + done + 40 + length, end, sizeof(end));
			length += sizeof(end);
			word[4] = 40 + length;
		}
		memcpy(to + done, word, sizeof(word));
		done += 40 + length;
	}
	return done;
}

static void fuzz_recording(uint64_t runs, const char *path)
{
	unsigned char *whole = xcalloc(MOST_BYTES, 1), *bytes = xcalloc(2 * MOST_BYTES, 1);
	int file = open(path, O_RDONLY), fd = memfd_create("fuzz", 0);
	ssize_t size = read(file, whole, MOST_BYTES);
	struct frame *frames;
	size_t count, changed;
	char name[64];
	uint64_t i;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	for (i = 0; i < runs && size > 0; i++) {
		if (below(2)) {
			changed = change_inside(bytes, whole, size);
		} else {
			memcpy(bytes, whole, size);
			changed = change(bytes, size);
		}
		if (ftruncate(fd, 0) || pwrite(fd, bytes, changed, 0) != (ssize_t)changed)
			exit(1);
		frames = NULL;
		count = read_frames(name, &frames, 0);
		while (count)
			frame_free(&frames[--count]);
		free(frames);
		/* A recording is closed when the program ends. */
		close_range(fd + 1, ~0U, 0);
	}
}

static void fuzz_identity(uint64_t runs)
{
	static const char * const texts[] = {
		"qemu-system-x86", "firecracker", "cloud-hypervisor",
		"0::/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt/emulator\n",
		"3:cpu:/machine/qemu-1-web.libvirt-qemu\n0::/\n",
		"0::/kubepods.slice/kubepods-pod0bc7a3ad_2c7b_4b42_8ecd_3c1e2c9e1c4f.slice/cri-1.scope\n",
		"77 (qemu (x) y) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 4711 0 0\n",
		"/usr/bin/qemu-system-x86_64|-name|guest=web,debug-threads=on|-uuid|"
		"0bc7a3ad-2c7b-4b42-8ecd-3c1e2c9e1c4f|-smbios|type=1,uuid=x|",
		"/firecracker|--id|web|--api-sock|/run/x.sock|",
		"cloud-hypervisor|--api-socket|path=/run/vms/web.sock|",
	};
	struct identity identity;
	char text[4][256];
	size_t size = 0, at, k;
	uint64_t i;

	for (i = 0; i < runs; i++) {
		for (k = 0; k < 4; k++) {
			size_t from = below(ARRAY_SIZE(texts));

			memset(text[k], 0, sizeof(text[k]));
			size = strlen(texts[from]);
			memcpy(text[k], texts[from], size);
			/* The end of an argument */
			for (at = 0; at < size; at++)
				text[k][at] = text[k][at] == '|' ? '\0' : text[k][at];
			size = change((unsigned char *)text[k], size);
			text[k][size] = '\0';
		}
		const struct proc_files files = {
			77, text[0], text[1], text[2], xmemdup(text[3], size + 1), size, -1,
		};

		identify(&identity, &files);
		identity_free(&identity);
		free((char *)files.cmdline);
		memset(&identity, 0, sizeof(identity));
	}
}

/* Returns 2 without anything to change. */
static int fuzz(const char *kind, uint64_t runs, struct frame *frames, size_t count, const char *path)
{
	if (!strcmp(kind, "identity"))
		fuzz_identity(runs);
	else if (count && !strcmp(kind, "frames"))
		fuzz_frames(runs, frames, count);
	else if (count && !strcmp(kind, "recording"))
		fuzz_recording(runs, path);
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t runs = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, done, batch = 0;
	struct frame *frames = NULL;
	size_t count = 0;
	int i, status;
	pid_t pid;

	/* kvmstat's complaints; the sanitizers write to the descriptor. */
	stderr = fopen("/dev/null", "w");
	for (i = 3; i < argc; i++)
		count = read_frames(argv[i], &frames, count);
	for (done = 0; done < runs; done += batch) {
		batch = runs - done < BATCH ? runs - done : BATCH;
		/* Each recording in turn, and each batch changes it in other ways. */
		state += done * UINT64_C(0x9e3779b97f4a7c15);
		pid = fork();
		if (!pid)
			return fuzz(argv[1], batch, frames, count, argv[3 + done / BATCH % (argc - 3)]);
		if (waitpid(pid, &status, 0) != pid || status) {
			printf("not ok - %s: inputs %llu to %llu\n", argv[1], (unsigned long long)done,
			       (unsigned long long)(done + batch - 1));
			return 1;
		}
	}
	printf("%s - %s: %llu inputs\n", done ? "ok" : "not ok", argv[1], (unsigned long long)done);
	return !done;
}
