/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine offers: cores, memory, devices. A container's limits count, because more threads than the
 * quota stall at every barrier, and a cache that doesn't fit is killed instead of refused. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity; no other file of ours needs it */
#endif
#include "backend.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

/* More threads than this don't make one answer faster: the barriers between small matrices cost more. */
enum { MOST_THREADS = 16 };

/* Reads the first line of a small file; false when it can't be read. */
static bool read_line(const char *path, char *line, size_t size) {
  FILE *file = fopen(path, "r");
  if (!file) return false;
  bool read = fgets(line, (int)size, file) != NULL;
  fclose(file);
  return read;
}

#ifdef __linux__
/* Hyperthreads share a core's arithmetic, so a core counts once: for its first thread, or for one whose first
 * thread isn't ours. */
static unsigned count_cores(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  unsigned cores = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET((size_t)cpu, &allowed)) continue;
    char path[96], line[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    int first = cpu;
    bool known = read_line(path, line, sizeof line) && sscanf(line, "%d", &first) == 1;
    bool counted = known && first >= 0 && first < cpu && CPU_ISSET((size_t)first, &allowed);
    if (!counted) cores++;
  }
  return cores;
}
#else
static unsigned count_cores(void) {
  return 0;
}
#endif

/* The quota of a control group in whole processors, rounded up; 0 when there is none. */
static unsigned quota(void) {
  char line[64];
  unsigned long long time, period;
  if (!read_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) return 0;
  if (sscanf(line, "%llu %llu", &time, &period) != 2 || period == 0) return 0;
  unsigned long long processors = (time + period - 1) / period;
  return processors > MOST_THREADS ? MOST_THREADS : (unsigned)processors;
}

unsigned tombola__machine_threads(void) {
  unsigned threads = count_cores();
  if (threads == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    threads = online > 0 ? (unsigned)online : 1;
  }
  unsigned limit = quota();
  if (limit == 0 || limit > MOST_THREADS) limit = MOST_THREADS;
  return threads < limit ? threads : limit;
}

uint64_t tombola__machine_memory(void) {
  unsigned long long kilobytes = 0, limit = 0;
  char line[128];
  FILE *file = fopen("/proc/meminfo", "r");
  if (file) {
    while (fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu", &kilobytes) != 1)
      continue;
    fclose(file);
  }
  uint64_t bytes = (uint64_t)kilobytes * 1024;
  if (bytes == 0) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) bytes = (uint64_t)pages * (uint64_t)size;
  }
  bool limited =
      read_line("/sys/fs/cgroup/memory.max", line, sizeof line) && sscanf(line, "%llu", &limit) == 1;
  return limited && limit < bytes ? limit : bytes;
}

/* The first GPU, and how many there are. An integrated one counts only when there is no other, as in
 * libllama. */
static ggml_backend_dev_t find_gpu(size_t *count) {
  static const enum ggml_backend_dev_type kinds[] = {GGML_BACKEND_DEVICE_TYPE_GPU,
                                                     GGML_BACKEND_DEVICE_TYPE_IGPU};
  for (size_t k = 0; k < TOMBOLA__COUNT(kinds); k++) {
    ggml_backend_dev_t found = NULL;
    *count = 0;
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
      ggml_backend_dev_t device = ggml_backend_dev_get(i);
      if (ggml_backend_dev_type(device) != kinds[k]) continue;
      if (!found) found = device;
      ++*count;
    }
    if (found) return found;
  }
  return NULL;
}

bool tombola__machine_has_gpu(void) {
  size_t count;
  return llama_supports_gpu_offload() && find_gpu(&count) != NULL;
}

/* The widest instruction set that ggml was built with and the processor has. */
static const char *instruction_set(void) {
  static const char *const names[][2] = {{"AVX512 = 1", "AVX512"},
                                         {"AVX2 = 1", "AVX2"},
                                         {"AVX = 1", "AVX"},
                                         {"SVE = 1", "SVE"},
                                         {"NEON = 1", "NEON"}};
  const char *system = llama_print_system_info();
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++)
    if (strstr(system, names[i][0])) return names[i][1];
  return NULL;
}

void tombola__machine_device(char *text, size_t size, unsigned threads) {
  size_t count = 0;
  ggml_backend_dev_t gpu = llama_supports_gpu_offload() ? find_gpu(&count) : NULL;
  if (gpu && count > 1) {
    snprintf(text, size, "%zu GPUs (%s and others)", count, ggml_backend_dev_description(gpu));
    return;
  }
  if (gpu) {
    snprintf(text, size, "%s (%s)", ggml_backend_dev_description(gpu), ggml_backend_dev_name(gpu));
    return;
  }
  const char *set = instruction_set();
  const char *plural = threads == 1 ? "" : "s";
  if (set)
    snprintf(text, size, "CPU (%s, %u thread%s)", set, threads, plural);
  else
    snprintf(text, size, "CPU (%u thread%s)", threads, plural);
}
