/* SPDX-License-Identifier: Apache-2.0 */
/* An answer, its statistics and its tokens as JSON, for --json, --stats json and --trace. */
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* ---- statistics ---- */

static bool add_speculation(yyjson_mut_doc *doc, yyjson_mut_val *stats,
                            const struct tombola_speculation_stats *speculation) {
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, stats, "speculation");
  return object && yyjson_mut_obj_add_uint(doc, object, "rounds", speculation->rounds) &&
         yyjson_mut_obj_add_uint(doc, object, "drafted", speculation->drafted) &&
         yyjson_mut_obj_add_uint(doc, object, "accepted", speculation->accepted) &&
         yyjson_mut_obj_add_uint(doc, object, "emitted", speculation->emitted) &&
         yyjson_mut_obj_add_uint(doc, object, "failures", speculation->failures) &&
         yyjson_mut_obj_add_real(doc, object, "acceptance_rate", speculation->acceptance_rate) &&
         yyjson_mut_obj_add_real(doc, object, "tokens_per_round", speculation->tokens_per_round) &&
         yyjson_mut_obj_add_real(doc, object, "draft_seconds", speculation->draft_seconds);
}

static bool add_constraint(yyjson_mut_doc *doc, yyjson_mut_val *stats, const struct turn *turn) {
  const struct tombola_generation_stats *from = &turn->stats;
  return yyjson_mut_obj_add_bool(doc, stats, "complete", turn->whole) &&
         yyjson_mut_obj_add_real(doc, stats, "constraint_seconds", from->constraint_seconds) &&
         yyjson_mut_obj_add_uint(doc, stats, "jumped_tokens", from->jumped) &&
         yyjson_mut_obj_add_uint(doc, stats, "dead_ends", from->dead_ends);
}

static bool add_stats(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct turn *turn,
                      const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "stats");
  return object &&
         yyjson_mut_obj_add_uint(doc, object, "prompt_tokens", stats->prompt_run + stats->prompt_reused) &&
         yyjson_mut_obj_add_uint(doc, object, "cached_tokens", stats->prompt_reused) &&
         yyjson_mut_obj_add_uint(doc, object, "generated_tokens", stats->generated) &&
         yyjson_mut_obj_add_uint(doc, object, "reasoning_tokens", stats->reasoning) &&
         yyjson_mut_obj_add_uint(doc, object, "forced_tokens", stats->forced) &&
         yyjson_mut_obj_add_uint(doc, object, "rollbacks", stats->rollbacks) &&
         yyjson_mut_obj_add_uint(doc, object, "rolled_back_tokens", stats->rolled_back) &&
         yyjson_mut_obj_add_uint(doc, object, "shifts", stats->shifts) &&
         yyjson_mut_obj_add_uint(doc, object, "shifted_away_tokens", stats->shifted_away) &&
         yyjson_mut_obj_add_real(doc, object, "prefill_seconds", stats->prefill_seconds) &&
         yyjson_mut_obj_add_real(doc, object, "decode_seconds", stats->decode_seconds) &&
         yyjson_mut_obj_add_real(doc, object, "sample_seconds", stats->sample_seconds) &&
         yyjson_mut_obj_add_real(doc, object, "text_seconds", turn_text_seconds(turn)) &&
         yyjson_mut_obj_add_real(doc, object, "total_seconds", turn->seconds) &&
         (!engine->matcher || add_constraint(doc, object, turn)) &&
         (!engine->speculation || add_speculation(doc, object, &stats->speculation));
}

/* {"finish_reason", "stop_reason", "seed", "stats"} */
static bool add_end(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct turn *turn,
                    const struct engine *engine) {
  return yyjson_mut_obj_add_str(doc, root, "finish_reason", tombola_stop_finish(turn->stats.stop)) &&
         yyjson_mut_obj_add_str(doc, root, "stop_reason", turn_stop_reason(turn)) &&
         yyjson_mut_obj_add_uint(doc, root, "seed", tombola_sampler_seed(engine->sampler)) &&
         add_stats(doc, root, turn, engine);
}

char *turn_stats_json(const struct turn *turn, const struct engine *engine) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  char *json = NULL;
  yyjson_mut_doc_set_root(doc, root);
  if (add_end(doc, root, turn, engine)) json = yyjson_mut_write(doc, YYJSON_WRITE_NEWLINE_AT_END, NULL);
  yyjson_mut_doc_free(doc);
  return json;
}

/* ---- tokens ---- */

/* A token's id and text; bytes that are no text stand in "hex" as well. */
static bool add_token(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct engine *engine, tombola_token token) {
  size_t length, written;
  const char *bytes = tombola_vocabulary_bytes(tombola_model_vocabulary(engine->model), token, &length);
  struct tombola_utf8 utf8 = {0};
  char *text = malloc(TOMBOLA_UTF8_ROOM(length) + 2 * length + 4);
  char *hex;
  bool good;
  if (!text) return false;
  hex = text + TOMBOLA_UTF8_ROOM(length) + 3;
  written = length ? tombola_utf8_push(&utf8, bytes, length, text) : 0;
  written += tombola_utf8_finish(&utf8, text + written);
  good = yyjson_mut_obj_add_sint(doc, object, "id", token) &&
         yyjson_mut_obj_add_strncpy(doc, object, "text", text, written);
  if (good && (written != length || (length && memcmp(text, bytes, length) != 0))) {
    for (size_t i = 0; i < length; i++) {
      hex[2 * i] = "0123456789abcdef"[(unsigned char)bytes[i] >> 4];
      hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    good = yyjson_mut_obj_add_strncpy(doc, object, "hex", hex, 2 * length);
  }
  free(text);
  return good;
}

/* JSON has no -inf: null. */
static bool add_logprob(yyjson_mut_doc *doc, yyjson_mut_val *object, bool known, float logprob) {
  if (!known || !isfinite(logprob)) return yyjson_mut_obj_add_null(doc, object, "logprob");
  return yyjson_mut_obj_add_real(doc, object, "logprob", (double)logprob);
}

static bool add_likely(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct engine *engine,
                       const struct tombola_logprob *likely, size_t count) {
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "top");
  bool good = list != NULL;
  for (size_t i = 0; good && i < count; i++) {
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);
    good = entry && add_token(doc, entry, engine, likely[i].id) && add_logprob(doc, entry, true, likely[i].logprob);
  }
  return good;
}

char *token_json(const struct tombola_token_event *event, const struct engine *engine, double milliseconds) {
  const struct tombola_logprobs *given = event->logprobs;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  char *json = NULL;
  bool good;
  yyjson_mut_doc_set_root(doc, root);
  good = yyjson_mut_obj_add_uint(doc, root, "index", event->index) && add_token(doc, root, engine, event->token) &&
         add_logprob(doc, root, given != NULL, given ? given->logprob : 0);
  if (good && given)
    good = yyjson_mut_obj_add_real(doc, root, "probability", exp((double)given->logprob));
  else if (good)
    good = yyjson_mut_obj_add_null(doc, root, "probability");
  good = good &&
         yyjson_mut_obj_add_str(doc, root, "channel", event->channel == TOMBOLA_REASONING ? "reasoning" : "content") &&
         yyjson_mut_obj_add_bool(doc, root, "forced", event->forced) &&
         yyjson_mut_obj_add_real(doc, root, "ms", milliseconds);
  if (good && given && engine->options->logprobs) good = add_likely(doc, root, engine, given->top, given->count);
  if (good) json = yyjson_mut_write(doc, YYJSON_WRITE_NEWLINE_AT_END, NULL);
  yyjson_mut_doc_free(doc);
  return json;
}

/* ---- the answer ---- */

static bool add_records(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct turn *turn,
                        const struct engine *engine) {
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "logprobs");
  bool good = list != NULL;
  for (size_t i = 0; good && i < turn->n_records; i++) {
    const struct record *record = &turn->records[i];
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);
    good = entry && add_token(doc, entry, engine, record->token) &&
           add_logprob(doc, entry, record->known, record->logprob) &&
           add_likely(doc, entry, engine, turn->likely + record->first, record->count);
  }
  return good;
}

/* {"text", "reasoning" (if any), "tokens", "logprobs" (with --logprobs), and the end} */
char *turn_json(const struct turn *turn, const struct engine *engine) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_val *tokens = yyjson_mut_arr_with_sint32(doc, turn->tokens.data, turn->tokens.count);
  const char *text = turn->answer.data ? turn->answer.data : "";
  char *json = NULL;
  bool good;
  if (!turn->tokens.count) tokens = yyjson_mut_arr(doc);
  yyjson_mut_doc_set_root(doc, root);
  good = yyjson_mut_obj_add_strn(doc, root, "text", text, turn->answer.length);
  if (good && turn->reasoning.length)
    good = yyjson_mut_obj_add_strn(doc, root, "reasoning", turn->reasoning.data, turn->reasoning.length);
  good = good && yyjson_mut_obj_add_val(doc, root, "tokens", tokens);
  if (good && engine->options->logprobs) good = add_records(doc, root, turn, engine);
  if (good && add_end(doc, root, turn, engine)) json = yyjson_mut_write(doc, YYJSON_WRITE_NEWLINE_AT_END, NULL);
  yyjson_mut_doc_free(doc);
  return json;
}
