/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola models`: the GGUF files that the cache holds. */
#include "options.h"
#include "paths.h"
#include "terminal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yyjson.h>

static int is_model(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".gguf") == 0;
}

static void print_size(char *text, size_t size, long long bytes) {
  if (bytes < 1000000)
    snprintf(text, size, "%.1f kB", (double)bytes / 1e3);
  else if (bytes < 1000000000)
    snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
  else
    snprintf(text, size, "%.1f GB", (double)bytes / 1e9);
}

/* The name that people say: the file's, without its ending. */
static void print_name(char *text, size_t size, const char *file) {
  snprintf(text, size, "%.*s", (int)(strlen(file) - 5), file);
}

static bool add_json(yyjson_mut_doc *doc, const char *name, const char *path, long long size) {
  yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, yyjson_mut_doc_get_root(doc));
  return yyjson_mut_obj_add_strcpy(doc, entry, "name", name) &&
         yyjson_mut_obj_add_int(doc, entry, "size", size) &&
         yyjson_mut_obj_add_strcpy(doc, entry, "path", path);
}

/* Prints one file, or adds it to the document. */
static bool list(const char *folder, const char *file, yyjson_mut_doc *doc) {
  char path[PATH_SIZE + 256], name[256], size[32];
  struct stat facts;
  snprintf(path, sizeof(path), "%s/%s", folder, file);
  if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return true;
  print_name(name, sizeof(name), file);
  if (doc) return add_json(doc, name, path, (long long)facts.st_size);
  print_size(size, sizeof(size), (long long)facts.st_size);
  printf("%-40s %10s  %s\n", name, size, path);
  return true;
}

static int finish_json(yyjson_mut_doc *doc) {
  char *json = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
  bool good = json && puts(json) >= 0;
  free(json);
  return good || ferror(stdout) ? EXIT_OK : complain("out of memory");
}

int command_models(struct options *options) {
  char folder[PATH_SIZE];
  struct dirent **entries = NULL;
  yyjson_mut_doc *doc = options->json ? yyjson_mut_doc_new(NULL) : NULL;
  bool good = !options->json || doc;
  int exit_status = EXIT_OK;
  int count;
  if (!path_models(folder)) return complain("there is no cache folder: HOME is not set");
  if (doc) yyjson_mut_doc_set_root(doc, yyjson_mut_arr(doc));
  errno = 0;
  count = scandir(folder, &entries, is_model, alphasort);
  if (count < 0 && errno != ENOENT) exit_status = complain("cannot read %s: %s", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    good = good && list(folder, entries[i]->d_name, doc);
    free(entries[i]);
  }
  free(entries);
  if (!good)
    exit_status = complain("out of memory");
  else if (doc && exit_status == EXIT_OK)
    exit_status = finish_json(doc);
  if (count <= 0 && exit_status == EXIT_OK)
    note("no model in %s; `make run` fetches the default one", folder);
  yyjson_mut_doc_free(doc);
  return exit_status == EXIT_OK ? output_finish() : exit_status;
}
