/* SPDX-License-Identifier: Apache-2.0 */
/* The options whose value has a form of its own: dialect, order of the stages, biases. */
#include "options.h"
#include "terminal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TERMINAL_PRINTF(4, 5)
static enum tombola_status fail(struct tombola_error *error, enum tombola_status status, const char *param,
                                const char *format, ...) {
  va_list arguments;
  error->status = status;
  error->offset = 0;
  snprintf(error->param, sizeof(error->param), "%s", param);
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return status;
}

static enum tombola_status no_memory(struct tombola_error *error, const char *param) {
  return fail(error, TOMBOLA_NO_MEMORY, param, "%s", tombola_status_text(TOMBOLA_NO_MEMORY));
}

/* Adds text that came after other text, cut to `size`. */
TERMINAL_PRINTF(3, 4)
static void append(char *text, size_t size, const char *format, ...) {
  size_t length = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + length, size - length, format, arguments);
  va_end(arguments);
}

/* ---- dialect, greedy ---- */

enum tombola_status option_set_dialect(struct options *options, const char *text,
                                       struct tombola_error *error) {
  options->sampler.struct_size = sizeof(options->sampler);
  return tombola_sampler_params_default(&options->sampler, text, error);
}

void option_show_dialect(const struct options *options, char *text, size_t size) {
  snprintf(text, size, "%s", options->sampler.dialect);
}

enum tombola_status option_set_greedy(struct options *options, const char *text,
                                      struct tombola_error *error) {
  (void)text;
  return tombola_sampler_params_set(&options->sampler, "temperature", "0", error);
}

/* ---- seed ---- */

/* A sampler's seed, as these parameters give it. */
static bool try_seed(const struct tombola_sampler_params *params, uint64_t *seed) {
  tombola_sampler *sampler = NULL;
  if (tombola_sampler_new(params, NULL, 1, NULL, &sampler, NULL) != TOMBOLA_OK) return false;
  *seed = tombola_sampler_seed(sampler);
  tombola_sampler_free(sampler);
  return true;
}

/* Where no seed is given the dialect has a constant one, or takes a random one each time; two samplers show
 * which. */
void option_show_seed(const struct options *options, char *text, size_t size) {
  struct tombola_sampler_params params = options->sampler;
  uint64_t first, second;
  params.logit_bias = NULL;
  params.n_logit_bias = 0;
  if (params.seed_mode == TOMBOLA_SEED_POLICY && try_seed(&params, &first) && try_seed(&params, &second))
    snprintf(text, size, first == second ? "%llu" : "random", (unsigned long long)first);
  else if (tombola_sampler_params_get(&params, "seed", text, size) != TOMBOLA_OK)
    snprintf(text, size, "%s", "");
}

/* ---- order of the stages ---- */

/* Adds the stage of that name; the names that there are stand in the message when it is none. */
static enum tombola_status add_stage(struct options *options, const char *name, struct tombola_error *error) {
  const char *stage = tombola_stage_find(name);
  char known[200] = "";
  if (stage) {
    options->samplers[options->sampler.n_samplers++] = stage;
    return TOMBOLA_OK;
  }
  for (size_t i = 0; i < tombola_stage_count(); i++)
    append(known, sizeof(known), "%s%s", i ? ", " : "", tombola_stage_at(i));
  return fail(error, TOMBOLA_INVALID_ARGUMENT, "samplers", "unknown stage \"%.40s\" (there are %s)", name,
              known);
}

/* Makes room for a list of at most `count` stages, which replaces the one before. */
static bool start_stages(struct options *options, size_t count) {
  const char **stages = realloc(options->samplers, (count ? count : 1) * sizeof(*stages));
  if (!stages) return false;
  options->samplers = stages;
  options->sampler.samplers = stages;
  options->sampler.n_samplers = 0;
  return true;
}

enum tombola_status option_set_samplers(struct options *options, const char *text,
                                        struct tombola_error *error) {
  enum tombola_status status = TOMBOLA_OK;
  if (!start_stages(options, strlen(text) + 1)) return no_memory(error, "samplers");
  while (*text && status == TOMBOLA_OK) {
    char name[64];
    size_t length = strcspn(text, ";,");
    snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), text);
    status = add_stage(options, name, error);
    text += length + (text[length] != '\0');
  }
  return status;
}

enum tombola_status option_set_letters(struct options *options, const char *text,
                                       struct tombola_error *error) {
  enum tombola_status status = TOMBOLA_OK;
  if (!start_stages(options, strlen(text))) return no_memory(error, "samplers");
  for (; *text && status == TOMBOLA_OK; text++) {
    const char letter[2] = {*text, '\0'};
    status = add_stage(options, letter, error);
  }
  return status;
}

void option_show_samplers(const struct options *options, char *text, size_t size) {
  const struct tombola_dialect_info *dialect = tombola_dialect_find(options->sampler.dialect);
  const char *const *names = options->sampler.samplers;
  size_t count = options->sampler.n_samplers;
  if (!names && dialect) {
    names = dialect->order;
    count = dialect->n_order;
  }
  snprintf(text, size, "%s", "");
  for (size_t i = 0; i < count; i++)
    append(text, size, "%s%s", i ? ";" : "", names[i]);
}

/* ---- lists ---- */

size_t option_ids_room(const char *text) {
  return strlen(text) / 2 + 1;
}

enum tombola_status option_read_ids(const char *text, const char *name, tombola_token *ids, size_t *count,
                                    struct tombola_error *error) {
  for (const char *at = text;; at++) {
    char *end;
    long id;
    errno = 0;
    id = strtol(at, &end, 10);
    if (*at < '0' || *at > '9' || errno || id > INT32_MAX || (*end && *end != ','))
      return fail(error, TOMBOLA_INVALID_ARGUMENT, name,
                  "%s: \"%.80s\" is no list of token ids, separated by commas", name, text);
    ids[(*count)++] = (tombola_token)id;
    at = end;
    if (!*at) return TOMBOLA_OK;
  }
}

enum tombola_status option_set_suppress(struct options *options, const char *text,
                                        struct tombola_error *error) {
  size_t count = options->sampler.n_suppress;
  tombola_token *list = realloc(options->suppress, (count + option_ids_room(text)) * sizeof(*list));
  if (!list) return no_memory(error, "suppress");
  options->suppress = list;
  options->sampler.suppress = list;
  return option_read_ids(text, "suppress", list, &options->sampler.n_suppress, error);
}

void option_show_suppress(const struct options *options, char *text, size_t size) {
  snprintf(text, size, "%s", options->sampler.n_suppress ? "" : "none");
  for (size_t i = 0; i < options->sampler.n_suppress; i++)
    append(text, size, "%s%d", i ? "," : "", (int)options->sampler.suppress[i]);
}

char *option_unescape(const char *text) {
  static const char letters[] = "ntr\\\"", meant[] = "\n\t\r\\\"";
  char *copy = malloc(strlen(text) + 1), *to = copy;
  if (!copy) return NULL;
  while (*text) {
    const char *letter = text[0] == '\\' && text[1] ? strchr(letters, text[1]) : NULL;
    *to++ = letter ? meant[letter - letters] : *text;
    text += letter ? 2 : 1;
  }
  *to = '\0';
  return copy;
}

enum tombola_status option_set_breaker(struct options *options, const char *text,
                                       struct tombola_error *error) {
  struct tombola_sampler_params *sampler = &options->sampler;
  size_t count = options->breakers ? sampler->n_dry_sequence_breakers : 0;
  char **list = realloc(options->breakers, (count + 1) * sizeof(*list));
  if (!list) return no_memory(error, "dry_sequence_breakers");
  options->breakers = list;
  sampler->dry_sequence_breakers = (const char *const *)list;
  sampler->n_dry_sequence_breakers = count;
  if (strcmp(text, "none") == 0) {
    while (sampler->n_dry_sequence_breakers > 0)
      free(list[--sampler->n_dry_sequence_breakers]);
    return TOMBOLA_OK;
  }
  list[count] = option_unescape(text);
  if (!list[count]) return no_memory(error, "dry_sequence_breakers");
  sampler->n_dry_sequence_breakers++;
  return TOMBOLA_OK;
}

void option_show_breakers(const struct options *options, char *text, size_t size) {
  const struct tombola_sampler_params *sampler = &options->sampler;
  if (!sampler->dry_sequence_breakers)
    snprintf(text, size, "the dialect's");
  else
    snprintf(text, size, "%s", sampler->n_dry_sequence_breakers ? "" : "none");
  for (size_t i = 0; i < sampler->n_dry_sequence_breakers; i++)
    append(text, size, "%s\"%s\"", i ? " " : "", sampler->dry_sequence_breakers[i]);
}

/* ---- biases ---- */

static enum tombola_status bad_bias(struct tombola_error *error, const char *text) {
  return fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
              "logit_bias: \"%.80s\" is not ID+B, ID-B, ID-inf or \"text\"+B", text);
}

/* Reads "+1.5", "-2", "-inf" up to the end of the text. */
static bool read_bias(const char *text, float *bias) {
  char *end;
  if (*text != '+' && *text != '-') return false;
  if (strcmp(text, "-inf") == 0) {
    *bias = -INFINITY;
    return true;
  }
  if (!strchr("0123456789.", text[1])) return false;
  *bias = strtof(text, &end);
  return end != text && *end == '\0' && isfinite(*bias);
}

static enum tombola_status add_bias(struct options *options, tombola_token token, float bias,
                                    struct tombola_error *error) {
  size_t count = options->sampler.n_logit_bias;
  struct tombola_logit_bias *list = realloc(options->logit_bias, (count + 1) * sizeof(*list));
  if (!list) return no_memory(error, "logit_bias");
  list[count] = (struct tombola_logit_bias){token, bias};
  options->logit_bias = list;
  options->sampler.logit_bias = list;
  options->sampler.n_logit_bias = count + 1;
  return TOMBOLA_OK;
}

/* "text"+B: kept until the vocabulary is there. */
static enum tombola_status add_text_bias(struct options *options, const char *text,
                                         struct tombola_error *error) {
  const char *end = strrchr(text, '"');
  size_t count = options->n_text_bias;
  struct text_bias *list;
  float bias;
  if (end <= text + 1 || !read_bias(end + 1, &bias)) return bad_bias(error, text);
  list = realloc(options->text_bias, (count + 1) * sizeof(*list));
  if (!list) return no_memory(error, "logit_bias");
  options->text_bias = list;
  list[count].bias = bias;
  list[count].text = malloc((size_t)(end - text));
  if (!list[count].text) return no_memory(error, "logit_bias");
  memcpy(list[count].text, text + 1, (size_t)(end - text - 1));
  list[count].text[end - text - 1] = '\0';
  options->n_text_bias++;
  return TOMBOLA_OK;
}

enum tombola_status option_set_bias(struct options *options, const char *text, struct tombola_error *error) {
  char *end;
  float bias;
  long id;
  if (*text == '"') return add_text_bias(options, text, error);
  if (!strchr("0123456789", *text) || !*text) return bad_bias(error, text);
  errno = 0;
  id = strtol(text, &end, 10);
  if (errno || id > INT32_MAX || !read_bias(end, &bias)) return bad_bias(error, text);
  return add_bias(options, (tombola_token)id, bias, error);
}

enum tombola_status options_resolve_bias(struct options *options, const tombola_vocabulary *vocabulary,
                                         struct tombola_error *error) {
  for (size_t i = 0; i < options->n_text_bias; i++) {
    const struct text_bias *entry = &options->text_bias[i];
    tombola_token token;
    size_t count = 0;
    enum tombola_status status = TOMBOLA_UNSUPPORTED;
    if (vocabulary)
      status =
          tombola_vocabulary_tokenize(vocabulary, entry->text, strlen(entry->text), 1, &token, 1, &count);
    if (status == TOMBOLA_OK && count == 1)
      status = add_bias(options, token, entry->bias, error);
    else if (status == TOMBOLA_OK || status == TOMBOLA_OUT_OF_RANGE)
      return fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
                  "logit_bias: \"%.60s\" is %zu tokens of this model; a bias needs exactly one", entry->text,
                  count);
    else
      return fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
                  "logit_bias: \"%.60s\": no vocabulary knows this text; give the token's id", entry->text);
    if (status != TOMBOLA_OK) return status;
  }
  while (options->n_text_bias > 0) /* they are biases of tokens now */
    free(options->text_bias[--options->n_text_bias].text);
  return TOMBOLA_OK;
}

void option_show_bias(const struct options *options, char *text, size_t size) {
  const struct tombola_sampler_params *sampler = &options->sampler;
  snprintf(text, size, "%s", sampler->n_logit_bias || options->n_text_bias ? "" : "none");
  for (size_t i = 0; i < sampler->n_logit_bias; i++)
    append(text, size, "%s%d%+g", i ? " " : "", (int)sampler->logit_bias[i].token,
           (double)sampler->logit_bias[i].bias);
  for (size_t i = 0; i < options->n_text_bias; i++)
    append(text, size, "%s\"%s\"%+g", i || sampler->n_logit_bias ? " " : "", options->text_bias[i].text,
           (double)options->text_bias[i].bias);
}
