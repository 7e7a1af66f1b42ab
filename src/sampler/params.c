/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters by their rows: defaults, text in and out, ranges. The rows of a stage are in its file; the rows
 * here are those that belong to no stage. Nothing else in the project knows a parameter's name, range or
 * default. */
#include <math.h>
#include <string.h>

#include "internal.h"
#include "number.h"

/* Up to and including the dialect: less than that says nothing. */
#define SMALLEST_STRUCT offsetof(struct tombola_sampler_params, seed)

static const char *const draw_rules[] = {"cdf", "gumbel", "rejection", NULL};

static const struct tombola_param_info general_rows[] = {
    {.name = "seed",
     .help = "seed of the random numbers; -1: a random one",
     .stage = "",
     .type = TOMBOLA_PARAM_SEED,
     .offset = offsetof(struct tombola_sampler_params, seed),
     .min = -1,
     .max = 0x1p64,
     .max_open = 1,
     .off = (double)NAN},
    {.name = "samplers",
     .help = "the stages and their order, names with ';' between",
     .stage = "",
     .type = TOMBOLA_PARAM_STAGES,
     .offset = offsetof(struct tombola_sampler_params, samplers),
     .off = (double)NAN},
    {.name = "min_keep",
     .help = "stages that keep by mass or share leave at least so many tokens",
     .stage = "",
     .type = TOMBOLA_PARAM_INT,
     .offset = offsetof(struct tombola_sampler_params, min_keep),
     .min = 0,
     .max = INT32_MAX,
     .off = 0},
    {.name = "draw",
     .help = "how a token is drawn: the law is the same",
     .stage = "",
     .type = TOMBOLA_PARAM_CHOICE,
     .choices = draw_rules,
     .offset = offsetof(struct tombola_sampler_params, draw),
     .off = (double)NAN},
};

size_t tombola_param_count(void) {
  size_t count = TOMBOLA__COUNT(general_rows);
  const struct tombola__stage *stage;
  for (size_t s = 0; (stage = tombola__stage_at(s)); s++)
    count += stage->n_params;
  return count;
}

const struct tombola_param_info *tombola_param_at(size_t index) {
  const struct tombola__stage *stage;
  for (size_t s = 0; (stage = tombola__stage_at(s)); s++) {
    if (index < stage->n_params) return &stage->params[index];
    index -= stage->n_params;
  }
  return index < TOMBOLA__COUNT(general_rows) ? &general_rows[index] : NULL;
}

static bool same_name(const char *a, const char *b) {
  for (; *a && *b; a++, b++)
    if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) return false;
  return *a == *b;
}

const struct tombola_param_info *tombola_param_find(const char *name) {
  const struct tombola_param_info *row;
  for (size_t i = 0; name && (row = tombola_param_at(i)); i++) {
    if (same_name(row->name, name)) return row;
    for (const char *const *alias = row->aliases; alias && *alias; alias++)
      if (same_name(*alias, name)) return row;
  }
  return NULL;
}

/* ---- values by row ---- */

static void write_value(struct tombola_sampler_params *params, const struct tombola_param_info *row,
                        double value) {
  char *at = (char *)params + row->offset;
  if (row->type == TOMBOLA_PARAM_FLOAT) {
    float f = (float)value;
    memcpy(at, &f, sizeof f);
  } else { /* an int32_t, or an enum of the same size */
    int32_t i = (int32_t)value;
    memcpy(at, &i, sizeof i);
  }
}

static double read_value(const struct tombola_sampler_params *params, const struct tombola_param_info *row) {
  const char *at = (const char *)params + row->offset;
  if (row->type == TOMBOLA_PARAM_FLOAT) {
    float f;
    memcpy(&f, at, sizeof f);
    return (double)f;
  }
  int32_t i;
  memcpy(&i, at, sizeof i);
  return i;
}

static bool has_number(const struct tombola_param_info *row) {
  return row->type == TOMBOLA_PARAM_FLOAT || row->type == TOMBOLA_PARAM_INT ||
         row->type == TOMBOLA_PARAM_CHOICE || row->type == TOMBOLA_PARAM_BOOL;
}

static size_t choice_count(const struct tombola_param_info *row) {
  size_t n = 0;
  while (row->choices[n])
    n++;
  return n;
}

/* The dialect's range, where it has one of its own, else the row's. */
static struct tombola__range range_of(const struct tombola_param_info *row,
                                      const struct tombola__dialect *dialect) {
  for (size_t i = 0; i < dialect->n_ranges; i++)
    if (!strcmp(dialect->ranges[i].param, row->name)) return dialect->ranges[i];
  return (struct tombola__range){row->name, row->min, row->max, row->min_open, row->max_open};
}

static enum tombola_status check_number(const struct tombola_param_info *row,
                                        const struct tombola__dialect *dialect, double value,
                                        struct tombola_error *error) {
  struct tombola__range range = range_of(row, dialect);
  if (row->type == TOMBOLA_PARAM_CHOICE) range.max = (double)choice_count(row) - 1;
  bool low = range.min_open ? value <= range.min : value < range.min;
  bool high = range.max_open ? value >= range.max : value > range.max;
  if (isfinite(value) && !low && !high) return TOMBOLA_OK;
  char got[32], text[96];
  tombola__format_float(got, sizeof got, value);
  tombola__format_range(text, sizeof text, range.min, range.max, range.min_open, range.max_open);
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s must be %s, got %s (%s)", row->name,
                       text, got, dialect->info.name);
}

static enum tombola_status check_seed(const struct tombola_sampler_params *params,
                                      const struct tombola__dialect *dialect, struct tombola_error *error) {
  if ((unsigned)params->seed_mode > TOMBOLA_SEED_RANDOM)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "seed", "seed_mode must be 0 to 2, got %d",
                         (int)params->seed_mode);
  if (params->seed_mode != TOMBOLA_SEED_FIXED || params->seed <= dialect->generator->max_seed)
    return TOMBOLA_OK;
  return tombola__fail(
      error, TOMBOLA_INVALID_ARGUMENT, "seed", "seed must be 0 to %llu, or -1 for random, got %llu (%s)",
      (unsigned long long)dialect->generator->max_seed, (unsigned long long)params->seed, dialect->info.name);
}

static enum tombola_status check_lists(const struct tombola_sampler_params *params,
                                       struct tombola_error *error) {
  const struct {
    const char *name;
    const void *list;
    size_t count;
  } lists[] = {{"logit_bias", params->logit_bias, params->n_logit_bias},
               {"fallback_bias", params->fallback_bias, params->n_fallback_bias},
               {"suppress", params->suppress, params->n_suppress},
               {"custom_stages", params->custom_stages, params->n_custom_stages}};
  for (size_t i = 0; i < TOMBOLA__COUNT(lists); i++)
    if (lists[i].count && !lists[i].list)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, lists[i].name, "%s is NULL and has %zu entries",
                           lists[i].name, lists[i].count);
  return TOMBOLA_OK;
}

static enum tombola_status check_all(const struct tombola_sampler_params *params,
                                     const struct tombola__dialect *dialect, struct tombola_error *error) {
  const struct tombola_param_info *row;
  for (size_t i = 0; (row = tombola_param_at(i)); i++) {
    enum tombola_status status =
        has_number(row) ? check_number(row, dialect, read_value(params, row), error) : 0;
    if (status) return status;
  }
  enum tombola_status status = check_lists(params, error);
  if (status) return status;
  for (size_t i = 0; i < params->n_logit_bias; i++) {
    float bias = params->logit_bias[i].bias;
    if (!(bias < INFINITY))
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
                           "logit_bias of token %d must be a number or -inf",
                           (int)params->logit_bias[i].token);
  }
  return check_seed(params, dialect, error);
}

/* ---- the calls ---- */

static enum tombola_status find_dialect(const char *name, const struct tombola__dialect **out,
                                        struct tombola_error *error) {
  *out = tombola__dialect_find(name ? name : "llama.cpp");
  if (*out) return TOMBOLA_OK;
  char known[128] = "";
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    if (i) strncat(known, ", ", sizeof known - strlen(known) - 1);
    strncat(known, tombola_dialect_at(i)->name, sizeof known - strlen(known) - 1);
  }
  return tombola__fail(error, TOMBOLA_NOT_FOUND, "dialect", "there is no dialect '%s'; there are: %s", name,
                       known);
}

/* What parameters without an off value are where a dialect says nothing: the values with which their stages
 * were published, which every engine took over. */
static const struct tombola__default common_defaults[] = {
    {"xtc_threshold", 0.1}, {"dry_base", 1.75},    {"dry_allowed_length", 2}, {"dry_penalty_last_n", -1},
    {"mirostat_tau", 5},    {"mirostat_eta", 0.1}, {"adaptive_decay", 0.9},
};

static void set_defaults(struct tombola_sampler_params *whole, const struct tombola__default *defaults,
                         size_t n) {
  for (size_t i = 0; i < n; i++)
    write_value(whole, tombola_param_find(defaults[i].param), defaults[i].value);
}

static void fill_defaults(struct tombola_sampler_params *whole, const struct tombola__dialect *dialect) {
  memset(whole, 0, sizeof *whole);
  whole->struct_size = sizeof *whole;
  whole->dialect = dialect->info.name;
  const struct tombola_param_info *row;
  for (size_t i = 0; (row = tombola_param_at(i)); i++)
    if (has_number(row) && !isnan(row->off)) write_value(whole, row, row->off);
  set_defaults(whole, common_defaults, TOMBOLA__COUNT(common_defaults));
  set_defaults(whole, dialect->defaults, dialect->n_defaults);
  static const char *const none[] = {NULL};
  if (dialect->dry_breakers_of_server) whole->dry_sequence_breakers = none;
}

static enum tombola_status check_struct(const struct tombola_sampler_params *params,
                                        struct tombola_error *error) {
  if (params && params->struct_size >= SMALLEST_STRUCT) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "struct_size",
                       "struct_size must be sizeof(struct tombola_sampler_params)");
}

/* On top of the dialect's defaults; what a program that is no server leaves out. */
static void fill_server_defaults(struct tombola_sampler_params *whole,
                                 const struct tombola__dialect *dialect) {
  set_defaults(whole, dialect->server_defaults, dialect->n_server_defaults);
  whole->dry_sequence_breakers = NULL;
  if (dialect->server_seed_random) whole->seed_mode = TOMBOLA_SEED_RANDOM;
}

static enum tombola_status give_defaults(struct tombola_sampler_params *params, const char *dialect_name,
                                         bool server, struct tombola_error *error) {
  enum tombola_status status = check_struct(params, error);
  const struct tombola__dialect *dialect;
  if (!status) status = find_dialect(dialect_name, &dialect, error);
  if (status) return status;
  size_t size = params->struct_size;
  struct tombola_sampler_params whole;
  fill_defaults(&whole, dialect);
  if (server) fill_server_defaults(&whole, dialect);
  memset(params, 0, size);
  memcpy(params, &whole, size < sizeof whole ? size : sizeof whole);
  params->struct_size = size;
  return TOMBOLA_OK;
}

enum tombola_status tombola_sampler_params_default(struct tombola_sampler_params *params, const char *dialect,
                                                   struct tombola_error *error) {
  return give_defaults(params, dialect, false, error);
}

enum tombola_status tombola_sampler_params_default_server(struct tombola_sampler_params *params,
                                                          const char *dialect, struct tombola_error *error) {
  return give_defaults(params, dialect, true, error);
}

enum tombola_status tombola__params_resolve(const struct tombola_sampler_params *params,
                                            struct tombola_sampler_params *whole,
                                            const struct tombola__dialect **dialect,
                                            struct tombola_error *error) {
  enum tombola_status status = check_struct(params, error);
  if (!status) status = find_dialect(params->dialect, dialect, error);
  if (status) return status;
  for (size_t i = sizeof *whole; i < params->struct_size; i++)
    if (((const char *)params)[i])
      return tombola__fail(error, TOMBOLA_UNSUPPORTED, "struct_size",
                           "the parameters hold values that this version (%s) doesn't know",
                           TOMBOLA_VERSION_STRING);
  fill_defaults(whole, *dialect);
  memcpy(whole, params, params->struct_size < sizeof *whole ? params->struct_size : sizeof *whole);
  whole->struct_size = sizeof *whole;
  whole->dialect = (*dialect)->info.name;
  if ((*dialect)->random_seed_value && whole->seed == (*dialect)->random_seed_value &&
      whole->seed_mode == TOMBOLA_SEED_FIXED)
    whole->seed_mode = TOMBOLA_SEED_RANDOM;
  return check_all(whole, *dialect, error);
}

enum tombola_status tombola_sampler_params_check(const struct tombola_sampler_params *params,
                                                 struct tombola_error *error) {
  struct tombola_sampler_params whole;
  const struct tombola__dialect *dialect;
  return tombola__params_resolve(params, &whole, &dialect, error);
}

static enum tombola_status set_seed(struct tombola_sampler_params *params,
                                    const struct tombola__dialect *dialect, const char *text,
                                    struct tombola_error *error) {
  struct tombola_sampler_params tried = {.seed_mode = TOMBOLA_SEED_FIXED};
  if (!strcmp(text, "-1") || !strcmp(text, "random"))
    tried.seed_mode = TOMBOLA_SEED_RANDOM;
  else if (!tombola__parse_uint64(text, &tried.seed))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "seed",
                         "seed must be a whole number, or -1 for random, got '%s'", text);
  enum tombola_status status = check_seed(&tried, dialect, error);
  if (status) return status;
  params->seed = tried.seed;
  params->seed_mode = tried.seed_mode;
  return TOMBOLA_OK;
}

static enum tombola_status set_choice(struct tombola_sampler_params *params,
                                      const struct tombola_param_info *row, const char *text,
                                      struct tombola_error *error) {
  char known[128] = "";
  for (size_t i = 0; row->choices[i]; i++) {
    if (!strcmp(row->choices[i], text)) {
      write_value(params, row, (double)i);
      return TOMBOLA_OK;
    }
    if (i) strncat(known, ", ", sizeof known - strlen(known) - 1);
    strncat(known, row->choices[i], sizeof known - strlen(known) - 1);
  }
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s must be one of: %s; got '%s'",
                       row->name, known, text);
}

static enum tombola_status set_bool(struct tombola_sampler_params *params,
                                    const struct tombola_param_info *row, const char *text,
                                    struct tombola_error *error) {
  bool yes = !strcmp(text, "true") || !strcmp(text, "1");
  if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s must be true or false, got '%s'",
                         row->name, text);
  write_value(params, row, yes);
  return TOMBOLA_OK;
}

static enum tombola_status set_number(struct tombola_sampler_params *params,
                                      const struct tombola_param_info *row,
                                      const struct tombola__dialect *dialect, const char *text,
                                      struct tombola_error *error) {
  double value;
  bool whole = row->type == TOMBOLA_PARAM_INT;
  if (!tombola__parse_float(text, &value))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s must be a number, got '%s'",
                         row->name, text);
  enum tombola_status status = check_number(row, dialect, whole ? value : (double)(float)value, error);
  if (status) return status;
  if (whole && value != (double)(int32_t)value)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s must be a whole number, got '%s'",
                         row->name, text);
  write_value(params, row, value);
  return TOMBOLA_OK;
}

static enum tombola_status find_row(const struct tombola_sampler_params *params, const char *name,
                                    const struct tombola_param_info **row, struct tombola_error *error) {
  enum tombola_status status = check_struct(params, error);
  if (status) return status;
  *row = tombola_param_find(name);
  if (!*row || (*row)->offset + sizeof(int32_t) > params->struct_size)
    return tombola__fail(error, TOMBOLA_NOT_FOUND, name, "there is no sampling parameter '%s'",
                         name ? name : "");
  return TOMBOLA_OK;
}

enum tombola_status tombola_sampler_params_set(struct tombola_sampler_params *params, const char *name,
                                               const char *text, struct tombola_error *error) {
  const struct tombola_param_info *row;
  const struct tombola__dialect *dialect;
  enum tombola_status status = find_row(params, name, &row, error);
  if (!status) status = find_dialect(params->dialect, &dialect, error);
  if (status) return status;
  if (!text) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, row->name, "%s needs a value", row->name);
  if (row->type == TOMBOLA_PARAM_SEED) return set_seed(params, dialect, text, error);
  if (row->type == TOMBOLA_PARAM_CHOICE) return set_choice(params, row, text, error);
  if (row->type == TOMBOLA_PARAM_BOOL) return set_bool(params, row, text, error);
  if (has_number(row)) return set_number(params, row, dialect, text, error);
  return tombola__fail(error, TOMBOLA_UNSUPPORTED, row->name, "%s is a list and can't be set from text",
                       row->name);
}

enum tombola_status tombola_sampler_params_get(const struct tombola_sampler_params *params, const char *name,
                                               char *text, size_t size) {
  const struct tombola_param_info *row;
  enum tombola_status status = find_row(params, name, &row, NULL);
  if (status) return status;
  if (row->type == TOMBOLA_PARAM_CHOICE) {
    size_t choice = (size_t)read_value(params, row);
    tombola__format_text(text, size, choice < choice_count(row) ? row->choices[choice] : "?");
  } else if (row->type == TOMBOLA_PARAM_SEED) {
    if (params->seed_mode == TOMBOLA_SEED_FIXED)
      tombola__format_uint64(text, size, params->seed);
    else
      tombola__format_text(text, size, params->seed_mode == TOMBOLA_SEED_RANDOM ? "random" : "default");
  } else if (row->type == TOMBOLA_PARAM_BOOL) {
    tombola__format_text(text, size, read_value(params, row) == 0 ? "false" : "true");
  } else if (has_number(row)) {
    tombola__format_float(text, size, read_value(params, row));
  } else {
    return TOMBOLA_UNSUPPORTED;
  }
  return TOMBOLA_OK;
}
