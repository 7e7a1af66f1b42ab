/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola sample --batch`: the JSON of one line, in and out. A parameter's value goes through the same text
 * as on the command line, so that names, ranges and messages are the library's. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "terminal.h"
#include "yyjson.h"

#define MAX_DRAWS 1000000

static enum tombola_status bad(struct tombola_error *error, const char *param, const char *expected) {
  return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s must be %s", param, expected);
}

/* Names and texts go on as C strings, which would end at a NUL: what stands behind it must not be lost. */
static bool has_nul(yyjson_val *value) {
  return yyjson_is_str(value) && strlen(yyjson_get_str(value)) != yyjson_get_len(value);
}

static enum tombola_status refuse_nul(struct tombola_error *error, const char *param) {
  return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s holds a NUL character; a text has none", param);
}

/* An array of token ids; the caller owns *out, which is never NULL on success. */
static enum tombola_status ids_of(yyjson_val *array, const char *name, tombola_token **out, size_t *count,
                                  struct tombola_error *error) {
  size_t n = yyjson_arr_size(array);
  if (!yyjson_is_arr(array)) return bad(error, name, "an array of token ids");
  tombola_token *ids = malloc((n + 1) * sizeof *ids);
  if (!ids) return sample_fail(error, TOMBOLA_NO_MEMORY, name, "out of memory");
  yyjson_arr_iter iter = yyjson_arr_iter_with(array);
  for (size_t i = 0; i < n; i++) {
    yyjson_val *value = yyjson_arr_iter_next(&iter);
    if (!yyjson_is_uint(value) || yyjson_get_uint(value) > INT32_MAX) {
      free(ids);
      return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s[%zu] must be a token id, 0 or more", name,
                         i);
    }
    ids[i] = (tombola_token)yyjson_get_uint(value);
  }
  *out = ids;
  *count = n;
  return TOMBOLA_OK;
}

/* The text of a scalar value; NULL for anything else. */
static const char *text_of(yyjson_val *value, char *room, size_t size) {
  if (yyjson_is_str(value)) return yyjson_get_str(value);
  if (yyjson_is_bool(value)) return yyjson_get_bool(value) ? "true" : "false";
  if (yyjson_is_uint(value))
    snprintf(room, size, "%llu", (unsigned long long)yyjson_get_uint(value));
  else if (yyjson_is_sint(value))
    snprintf(room, size, "%lld", (long long)yyjson_get_sint(value));
  else if (yyjson_is_real(value))
    snprintf(room, size, "%.17g", yyjson_get_real(value));
  else
    return NULL;
  return room;
}

/* A bias is a number; "-inf" or false bans. */
static bool bias_of(yyjson_val *value, float *bias) {
  if (yyjson_is_num(value)) {
    *bias = (float)yyjson_get_num(value);
    return true;
  }
  *bias = -(float)HUGE_VAL;
  return yyjson_is_false(value) || yyjson_equals_str(value, "-inf");
}

/* The token of {"12": bias}, all of the key a number. */
static bool token_of_key(yyjson_val *key, tombola_token *token) {
  const char *text = yyjson_get_str(key);
  char *end;
  if (text[0] < '0' || text[0] > '9' || has_nul(key)) return false;
  unsigned long n = strtoul(text, &end, 10);
  *token = n <= INT32_MAX ? (tombola_token)n : TOMBOLA_NO_TOKEN;
  return *end == '\0' && n <= INT32_MAX;
}

static bool bias_pair(yyjson_val *value, struct tombola_logit_bias *out) {
  yyjson_val *id = yyjson_arr_get(value, 0);
  if (yyjson_arr_size(value) != 2 || !yyjson_is_uint(id) || yyjson_get_uint(id) > INT32_MAX) return false;
  out->token = (tombola_token)yyjson_get_uint(id);
  return bias_of(yyjson_arr_get(value, 1), &out->bias);
}

static int by_token(const void *a, const void *b) {
  tombola_token x = *(const tombola_token *)a, y = *(const tombola_token *)b;
  return (x > y) - (x < y);
}

/* An object of biases names each token once, else it depends on the reader which bias holds. Sorted, because a
 * vocabulary's worth of them is common. */
static enum tombola_status refuse_twice(const struct tombola_logit_bias *bias, size_t n, const char *name,
                                        struct tombola_error *error) {
  enum tombola_status status = TOMBOLA_OK;
  tombola_token *tokens = malloc((n + 1) * sizeof *tokens);
  if (!tokens) return sample_fail(error, TOMBOLA_NO_MEMORY, name, "out of memory");
  for (size_t i = 0; i < n; i++)
    tokens[i] = bias[i].token;
  qsort(tokens, n, sizeof *tokens, by_token);
  for (size_t i = 1; i < n && status == TOMBOLA_OK; i++)
    if (tokens[i] == tokens[i - 1])
      status = sample_fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s: \"%d\" is given twice", name, (int)tokens[i]);
  free(tokens);
  return status;
}

enum tombola_status sample_biases(yyjson_val *value, const char *name, struct tombola_logit_bias **out,
                                  size_t *count, struct tombola_error *error) {
  size_t n = yyjson_is_obj(value) ? yyjson_obj_size(value) : yyjson_arr_size(value);
  bool fine = yyjson_is_obj(value) || yyjson_is_arr(value);
  free(*out);
  struct tombola_logit_bias *bias = *out = malloc((n + 1) * sizeof *bias);
  if (!bias) return sample_fail(error, TOMBOLA_NO_MEMORY, name, "out of memory");
  if (yyjson_is_obj(value)) {
    yyjson_obj_iter iter = yyjson_obj_iter_with(value);
    for (size_t i = 0; fine && i < n; i++) {
      yyjson_val *key = yyjson_obj_iter_next(&iter);
      fine = token_of_key(key, &bias[i].token) && bias_of(yyjson_obj_iter_get_val(key), &bias[i].bias);
    }
  } else {
    yyjson_arr_iter iter = yyjson_arr_iter_with(value);
    for (size_t i = 0; fine && i < n; i++)
      fine = bias_pair(yyjson_arr_iter_next(&iter), &bias[i]);
  }
  *count = n;
  if (!fine) return bad(error, name, "{\"id\": bias} or [[id, bias]], a bias being a number, \"-inf\" or false");
  return yyjson_is_obj(value) ? refuse_twice(bias, n, name, error) : TOMBOLA_OK;
}

/* Texts are copied, one behind the other, because the document is freed before the sampler is made. */
static enum tombola_status texts_of(yyjson_val *array, const char *name, const char *expected,
                                    const char ***out, char **room, struct tombola_error *error) {
  size_t n = yyjson_arr_size(array), length = 0;
  yyjson_arr_iter iter = yyjson_arr_iter_with(array);
  for (size_t i = 0; i < n; i++) {
    yyjson_val *text = yyjson_arr_iter_next(&iter);
    if (!yyjson_is_str(text)) return bad(error, name, expected);
    if (has_nul(text)) return refuse_nul(error, name);
    length += yyjson_get_len(text) + 1;
  }
  if (!yyjson_is_arr(array)) return bad(error, name, expected);
  free(*out);
  free(*room);
  *out = malloc((n + 1) * sizeof **out);
  char *at = *room = malloc(length + 1);
  if (!*out || !at) return sample_fail(error, TOMBOLA_NO_MEMORY, name, "out of memory");
  iter = yyjson_arr_iter_with(array);
  for (size_t i = 0; i < n; i++) {
    yyjson_val *text = yyjson_arr_iter_next(&iter);
    (*out)[i] = at;
    memcpy(at, yyjson_get_str(text), yyjson_get_len(text) + 1);
    at += yyjson_get_len(text) + 1;
  }
  return TOMBOLA_OK;
}

/* A parameter that is a list. */
static enum tombola_status list_of(yyjson_val *value, const struct tombola_param_info *info,
                                   struct sample_request *request, struct tombola_error *error) {
  struct tombola_sampler_params *params = &request->params;
  enum tombola_status status;
  if (info->type == TOMBOLA_PARAM_LOGIT_BIAS) {
    bool own = strcmp(info->name, "logit_bias") == 0;
    struct tombola_logit_bias **list = own ? &request->bias : &request->fallback_bias;
    status =
        sample_biases(value, info->name, list, own ? &params->n_logit_bias : &params->n_fallback_bias, error);
    *(own ? &params->logit_bias : &params->fallback_bias) = *list;
  } else if (info->type == TOMBOLA_PARAM_TOKENS) {
    free(request->suppress);
    request->suppress = NULL;
    status = ids_of(value, info->name, &request->suppress, &params->n_suppress, error);
    params->suppress = request->suppress;
  } else {
    status =
        texts_of(value, info->name, "an array of texts", &request->breakers, &request->breaker_text, error);
    params->dry_sequence_breakers = request->breakers;
    params->n_dry_sequence_breakers = yyjson_arr_size(value);
  }
  return status;
}

static bool is_list(const struct tombola_param_info *info) {
  return info && (info->type == TOMBOLA_PARAM_LOGIT_BIAS || info->type == TOMBOLA_PARAM_TOKENS ||
                  info->type == TOMBOLA_PARAM_STRINGS);
}

/* Whether a member before this one names the same parameter, be it by an alias. */
static bool is_named_before(yyjson_val *object, yyjson_val *key, const struct tombola_param_info *info) {
  yyjson_obj_iter iter = yyjson_obj_iter_with(object);
  for (yyjson_val *other; (other = yyjson_obj_iter_next(&iter)) && other != key;)
    if (info && tombola_param_find(yyjson_get_str(other)) == info) return true;
  return false;
}

/* null, an array or an object where one value belongs. */
static enum tombola_status bad_value(struct tombola_error *error, const char *name, yyjson_val *value) {
  char *text = yyjson_val_write(value, YYJSON_WRITE_ESCAPE_UNICODE, NULL);
  enum tombola_status status =
      sample_fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s: %.40s is not allowed (a number, a text, true or false)",
                  name, text ? text : "this");
  free(text);
  return status;
}

static enum tombola_status params_of(yyjson_val *object, struct sample_request *request,
                                     struct tombola_error *error) {
  if (!yyjson_is_obj(object)) return bad(error, "params", "an object");
  yyjson_obj_iter iter = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
    char room[64];
    const char *name = yyjson_get_str(key);
    yyjson_val *value = yyjson_obj_iter_get_val(key);
    const struct tombola_param_info *info = tombola_param_find(name);
    enum tombola_status status;
    if (has_nul(key)) return refuse_nul(error, "params");
    if (has_nul(value)) return refuse_nul(error, name);
    if (is_named_before(object, key, info))
      return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s is given twice", name);
    if (is_list(info)) {
      status = list_of(value, info, request, error);
    } else {
      const char *text = text_of(value, room, sizeof room);
      if (!text) return bad_value(error, name, value);
      status = tombola_sampler_params_set(&request->params, name, text, error);
    }
    if (status != TOMBOLA_OK) return status;
  }
  return TOMBOLA_OK;
}

static enum tombola_status samplers_of(yyjson_val *array, struct sample_request *request,
                                       struct tombola_error *error) {
  enum tombola_status status = texts_of(array, "samplers", "an array of stage names", &request->samplers,
                                        &request->sampler_text, error);
  request->params.samplers = request->samplers;
  request->params.n_samplers = yyjson_arr_size(array);
  return status;
}

static enum tombola_status seed_of(yyjson_val *value, struct sample_request *request,
                                   struct tombola_error *error) {
  char room[64];
  const char *text = text_of(value, room, sizeof room);
  if (!text) return bad(error, "seed", "a whole number");
  if (has_nul(value)) return refuse_nul(error, "seed");
  return tombola_sampler_params_set(&request->params, "seed", text, error);
}

static enum tombola_status mask_of(yyjson_val *value, struct sample_request *request,
                                   struct tombola_error *error) {
  tombola_token *ids = NULL;
  size_t n = 0;
  enum tombola_status status = ids_of(value, "mask", &ids, &n, error);
  if (status == TOMBOLA_OK) status = sample_request_mask(request, ids, n, request->row.row.count, error);
  free(ids);
  return status;
}

/* The keys of a line. The dialect and the row come first, because the others build on them. */
static const char *const keys[] = {"dialect",  "logits", "history", "params",
                                   "samplers", "mask",   "seed",    "draws"};

static enum tombola_status member(size_t which, yyjson_val *value, struct sample_request *request,
                                  struct tombola_error *error) {
  switch (which) {
  case 0:
    if (!yyjson_is_str(value)) return bad(error, "dialect", "a text");
    if (has_nul(value)) return refuse_nul(error, "dialect");
    return tombola_sampler_params_default(&request->params, yyjson_get_str(value), error);
  case 1: return sample_row_from_json(value, &request->row, error);
  case 2: return ids_of(value, "history", &request->history, &request->n_history, error);
  case 3: return params_of(value, request, error);
  case 4: return samplers_of(value, request, error);
  case 5: return mask_of(value, request, error);
  case 6: return seed_of(value, request, error);
  default:
    if (!yyjson_is_uint(value) || yyjson_get_uint(value) > MAX_DRAWS)
      return bad(error, "draws", "a whole number from 0 to 1000000");
    request->draws = (size_t)yyjson_get_uint(value);
    return TOMBOLA_OK;
  }
}

static enum tombola_status check_names(yyjson_val *object, struct tombola_error *error) {
  bool seen[sizeof keys / sizeof *keys] = {false};
  yyjson_obj_iter iter = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
    size_t i = 0;
    while (i < sizeof keys / sizeof *keys && !yyjson_equals_str(key, keys[i]))
      i++;
    if (i == sizeof keys / sizeof *keys)
      return sample_fail(
          error, TOMBOLA_INVALID_ARGUMENT, yyjson_get_str(key),
          "unknown member \"%.64s\": logits, dialect, params, samplers, history, mask, seed and draws are",
          yyjson_get_str(key));
    if (seen[i]) return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, keys[i], "%s is given twice", keys[i]);
    seen[i] = true;
  }
  return TOMBOLA_OK;
}

enum tombola_status sample_request_from_json(yyjson_val *object, struct sample_request *request,
                                             struct tombola_error *error) {
  if (!yyjson_is_obj(object)) return sample_fail(error, TOMBOLA_FORMAT, "", "a line must be a JSON object");
  enum tombola_status status = check_names(object, error);
  request->draws = 1;
  request->params.struct_size = sizeof request->params;
  if (status == TOMBOLA_OK) status = tombola_sampler_params_default(&request->params, NULL, error);
  for (size_t i = 0; status == TOMBOLA_OK && i < sizeof keys / sizeof *keys; i++) {
    yyjson_val *value = yyjson_obj_get(object, keys[i]);
    if (value)
      status = member(i, value, request, error);
    else if (strcmp(keys[i], "logits") == 0)
      return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, "logits", "logits are missing");
  }
  return status;
}

/* ---- output ---- */

static int by_id(const void *a, const void *b) {
  const struct tombola_candidate *x = *(const struct tombola_candidate *const *)a;
  const struct tombola_candidate *y = *(const struct tombola_candidate *const *)b;
  return (x->id > y->id) - (x->id < y->id);
}

/* Writes the document as one line and frees it. */
static bool write_line(yyjson_mut_doc *doc) {
  size_t length = 0;
  char *text = doc ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length) : NULL;
  if (!text) complain("no memory to write the answer");
  bool done = text && output_write(text, length) && output_write("\n", 1);
  free(text);
  yyjson_mut_doc_free(doc);
  return done;
}

static void add_kept(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct sample_result *result,
                     const struct tombola_candidate **order) {
  yyjson_mut_val *ids = yyjson_mut_obj_add_arr(doc, root, "ids");
  yyjson_mut_val *probs = yyjson_mut_obj_add_arr(doc, root, "p");
  yyjson_mut_val *tokens = yyjson_mut_obj_add_arr(doc, root, "tokens");
  for (size_t i = 0; i < result->n_kept; i++)
    order[i] = &result->kept[i];
  qsort(order, result->n_kept, sizeof *order, by_id);
  for (size_t i = 0; i < result->n_kept; i++) {
    yyjson_mut_arr_add_int(doc, ids, order[i]->id);
    yyjson_mut_arr_add_real(doc, probs, order[i]->p);
  }
  for (size_t i = 0; i < result->n_tokens; i++)
    yyjson_mut_arr_add_int(doc, tokens, result->tokens[i]);
}

bool sample_write_result(const struct sample_result *result, const struct sample_request *request) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  const struct tombola_candidate **order = malloc((result->n_kept + 1) * sizeof *order);
  if (!doc || !order) {
    yyjson_mut_doc_free(doc);
    free(order);
    return false;
  }
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_doc_set_root(doc, root);
  add_kept(doc, root, result, order);
  if (request) {
    yyjson_mut_obj_add_uint(doc, root, "seed", result->seed);
    yyjson_mut_obj_add_str(doc, root, "chain", result->chain);
  }
  bool done = !request || !result->trace || sample_add_trace(doc, root, request, result);
  if (done)
    done = write_line(doc);
  else
    yyjson_mut_doc_free(doc);
  free(order);
  return done;
}

bool sample_write_error(const struct tombola_error *error) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_val *inner = yyjson_mut_obj_add_obj(doc, root, "error");
  if (doc) yyjson_mut_doc_set_root(doc, root);
  yyjson_mut_obj_add_str(doc, inner, "status", tombola_status_name(error->status));
  yyjson_mut_obj_add_str(doc, inner, "param", error->param);
  yyjson_mut_obj_add_str(doc, inner, "message", error->message);
  return write_line(doc);
}
