/* SPDX-License-Identifier: Apache-2.0 */
/* Where the program keeps things (XDG base directories). */
#ifndef TOMBOLA_PROGRAMS_PATHS_H
#define TOMBOLA_PROGRAMS_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_SIZE = 4096 };

/* Each writes a path into `path` (PATH_SIZE bytes); false when there is no home folder or the path is too
 * long. TOMBOLA_CACHE replaces ${XDG_CACHE_HOME:-~/.cache}/tombola, as in the scripts that fill the cache. */
bool path_models(char *path);        /* the folder of the models that were fetched */
bool path_default_model(char *path); /* the file of the default model */
bool path_history(char *path);
bool path_config(char *path); /* config.json; the file needn't be there */       /* the chat's history; makes its folder */

#endif
