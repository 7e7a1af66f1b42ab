/* SPDX-License-Identifier: Apache-2.0 */
/* An answer under a constraint by a scripted model, written down: what the session's tests of constraints share. Token 0
 * ends the answer, tokens 1 to 95 are the printable ASCII characters, 96 is the line end, and the test's own follow. */
#ifndef TESTS_CONSTRAINED_H
#define TESTS_CONSTRAINED_H

#include <stdlib.h>

#include "allocator.h"
#include "constraint_support.h"
#include "play.h"

enum { FIRST_OWN = 97, SCENE_JSON = 65536 };

struct scene {
  struct play play;
  struct tombola_grammar_source source;          /* struct_size is filled in */
  const char *const *own;                        /* further tokens, NULL at the end; may be NULL */
  const char *const *said;                       /* tokens that the model favours, one a step; may be NULL */
  const char *more;                              /* further members of the script, or NULL */
  bool own_only;                                 /* the vocabulary has no others than the test's */
  struct tombola_speculation_params speculation; /* kind OFF: none */
  const char *draft_more;                        /* members of the draft model's script in place of `more` */
  int logprobs;
  size_t fail_at; /* the session's allocation that fails once the session is there; 0: none */

  /* after scene_play() */
  bool complete; /* the matcher, where it was left */
  size_t accepted;
  size_t requests; /* of memory, by the generation */
};

static inline size_t scene_own(const struct scene *s) {
  return s->own_only ? 1 : FIRST_OWN;
}

/* The id of a token by its text. */
static inline tombola_token scene_id(const struct scene *s, const char *text) {
  for (size_t i = 0; s->own && s->own[i]; i++)
    if (strcmp(s->own[i], text) == 0) return (tombola_token)(scene_own(s) + i);
  if (strcmp(text, "<eos>") == 0) return 0;
  assert_int_equal(strlen(text), 1);
  return text[0] == '\n' ? 96 : text[0] - ' ' + 1;
}

static inline void scene_script(const struct scene *s, const char *more, char *json) {
  int at = snprintf(json, SCENE_JSON, "{\"vocab\": [\"<eos>\"");
  for (int c = ' '; c <= 127 && !s->own_only; c++)
    at += snprintf(json + at, (size_t)(SCENE_JSON - at), ", {\"hex\": \"%02x\"}", c == 127 ? '\n' : c);
  for (size_t i = 0; s->own && s->own[i]; i++) {
    at += snprintf(json + at, (size_t)(SCENE_JSON - at), ", {\"hex\": \"");
    for (const char *byte = s->own[i]; *byte; byte++)
      at += snprintf(json + at, (size_t)(SCENE_JSON - at), "%02x", (unsigned)(unsigned char)*byte);
    at += snprintf(json + at, (size_t)(SCENE_JSON - at), "\"}");
  }
  at += snprintf(json + at, (size_t)(SCENE_JSON - at), "], \"end\": [0], \"steps\": [");
  for (size_t i = 0; s->said && s->said[i]; i++)
    at += snprintf(json + at, (size_t)(SCENE_JSON - at), "%s%d", i ? ", " : "", (int)scene_id(s, s->said[i]));
  at += snprintf(json + at, (size_t)(SCENE_JSON - at), "]%s}", more ? more : "");
  assert_true(at < SCENE_JSON);
}

static inline tombola_model *scene_model(const struct scene *s, const char *more) {
  char *const json = malloc(SCENE_JSON);
  scene_script(s, more, json);
  const struct tombola_model_params params = {
      .struct_size = sizeof params, .context = s->play.context, .batch = s->play.batch, .sequences = 1};
  tombola_model *const model = script_load(json, &params);
  free(json);
  return model;
}

/* What was answered is what the constraint says, whole where it ended by itself. */
static inline void scene_check(const struct scene *s, const tombola_trie *trie) {
  const struct play *const p = &s->play;
  if (!p->params.text || p->params.text->n_stops) return;
  tombola_grammar *const grammar = support_grammar(&s->source, trie);
  tombola_matcher *const fresh = support_matcher(grammar);
  size_t fit;
  const char *const text = p->text[TOMBOLA_CONTENT];
  if (tombola_matcher_accept_bytes(fresh, text, p->length[TOMBOLA_CONTENT], &fit, NULL) != TOMBOLA_OK)
    fail_msg("'%s' stops to fit at byte %zu", text, fit);
  if (p->status == TOMBOLA_OK && p->stats.stop == TOMBOLA_STOP_END_TOKEN &&
      !tombola_matcher_is_complete(fresh))
    fail_msg("'%s' is not complete", text);
  assert_int_equal(tombola_matcher_is_complete(fresh), s->complete);
  tombola_matcher_free(fresh);
  tombola_grammar_free(grammar);
}

static inline void scene_play(struct scene *s) {
  static const struct tombola_text_params plain = {.struct_size = sizeof plain};
  struct play *const p = &s->play;
  tombola_model *const model = scene_model(s, s->more), *draft = NULL;
  const tombola_vocabulary *const vocabulary = tombola_model_vocabulary(model);
  tombola_trie *const trie = support_trie(vocabulary);
  s->source.struct_size = sizeof s->source;
  tombola_grammar *const grammar = support_grammar(&s->source, trie);
  tombola_matcher *const matcher = support_matcher(grammar);
  tombola_sampler *const sampler =
      p->sampler ? p->sampler
                 : play_sampler(tombola_vocabulary_count(vocabulary), p->sampler_param, p->sampler_value);
  tombola_session *session;
  struct support_allocator memory = support_allocator(0);
  assert_int_equal(tombola_session_new(model, 0, support_allocator_use(&memory), &session, NULL), TOMBOLA_OK);
  memory.requests = 0;
  memory.fail_at = s->fail_at;
  if (s->speculation.kind == TOMBOLA_SPECULATION_DRAFT_MODEL) draft = scene_model(s, s->draft_more);
  s->speculation.struct_size = sizeof s->speculation;
  s->speculation.draft = draft;
  assert_int_equal(tombola_speculation_new(model, &s->speculation, NULL, &p->params.speculation, NULL),
                   TOMBOLA_OK);
  if (s->logprobs)
    assert_int_equal(tombola_sampler_set_logprobs(sampler, TOMBOLA_LOGPROB_RAW, (size_t)s->logprobs),
                     TOMBOLA_OK);
  if (!p->params.text) p->params.text = &plain;
  p->params.matcher = matcher;
  const tombola_token prompt = scene_own(s) > 1 ? '?' - ' ' + 1 : 1;
  play_on(p, session, sampler, &prompt, 1);
  s->complete = tombola_matcher_is_complete(matcher);
  s->accepted = tombola_matcher_accepted(matcher);
  assert_int_equal(s->accepted, p->count);
  scene_check(s, trie);
  tombola_speculation_free(p->params.speculation);
  tombola_session_free(session);
  s->requests = memory.requests;
  support_allocator_check(&memory);
  if (!p->sampler) tombola_sampler_free(sampler);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
  tombola_trie_free(trie);
  tombola_model_free(draft);
  tombola_model_free(model);
}

static inline void scene_ok(struct scene *s, enum tombola_stop stop, const char *content,
                            const char *reasoning) {
  scene_play(s);
  play_ok(&s->play, stop);
  play_text(&s->play, content, reasoning);
}

#endif
