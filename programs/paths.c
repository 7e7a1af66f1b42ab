/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char default_model[] = "SmolLM2-135M-Instruct.Q4_1.gguf";

/* ${VARIABLE:-$HOME/fallback}/tombola */
static bool base(char *path, const char *variable, const char *fallback) {
  const char *value = getenv(variable);
  const char *home = getenv("HOME");
  int length;
  if (value && *value)
    length = snprintf(path, PATH_SIZE, "%s/tombola", value);
  else if (home && *home)
    length = snprintf(path, PATH_SIZE, "%s/%s/tombola", home, fallback);
  else
    return false;
  return length > 0 && length < PATH_SIZE;
}

static bool add(char *path, const char *name) {
  size_t length = strlen(path);
  int added = snprintf(path + length, PATH_SIZE - length, "/%s", name);
  return added > 0 && (size_t)added < PATH_SIZE - length;
}

bool path_models(char *path) {
  const char *cache = getenv("TOMBOLA_CACHE");
  bool found = cache && *cache ? snprintf(path, PATH_SIZE, "%s", cache) < PATH_SIZE
                               : base(path, "XDG_CACHE_HOME", ".cache");
  return found && add(path, "models");
}

bool path_default_model(char *path) {
  return path_models(path) && add(path, default_model);
}

/* As mkdir -p, for the owner alone. Failures show when the file is opened. */
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
}

bool path_history(char *path) {
  if (!base(path, "XDG_STATE_HOME", ".local/state") || !add(path, "history")) return false;
  make_folders(path);
  return true;
}

bool path_config(char *path) {
  return base(path, "XDG_CONFIG_HOME", ".config") && add(path, "config.json");
}
