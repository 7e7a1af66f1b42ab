/* SPDX-License-Identifier: Apache-2.0 */
/* Speculative rounds (Leviathan et al., arXiv 2211.17192): some tokens are drafted, the target runs the last
 * token and the drafts in one batch, and each draft is judged where the token would have been drawn. All that
 * is judged goes through the same steps as a token drawn alone, one by one, so that a stop inside the run
 * cuts exactly there; and the target's sampler never sees a draft, only what was taken, so that there is
 * nothing to roll back in it. A draft model's sampler follows the target's at the start of each round. */
#include "session/speculation.h"

#include <string.h>

#include "session/prompt_lookup.h"

/* ---- making ---- */

static size_t or_default(size_t value, size_t otherwise) {
  return value ? value : otherwise;
}

static enum tombola_status check_range(const char *name, size_t value, size_t least, size_t most,
                                       struct tombola_error *error) {
  if (value >= least && value <= most) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s is %zu; it must be %zu to %zu", name, value,
                       least, most);
}

static enum tombola_status complete_params(const struct tombola_speculation_params *given,
                                           struct tombola_speculation_params *full,
                                           struct tombola_error *error) {
  memset(full, 0, sizeof *full);
  if (!given) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "params", "params is NULL");
  if (given->struct_size < sizeof given->struct_size)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "struct_size",
                         "struct_size of the parameters is not set");
  memcpy(full, given, given->struct_size < sizeof *full ? given->struct_size : sizeof *full);
  full->draft_tokens = or_default(full->draft_tokens, 4);
  full->ngram_max = or_default(full->ngram_max, 3);
  full->ngram_min = or_default(full->ngram_min, full->ngram_max < 2 ? full->ngram_max : 2);
  full->max_draft = or_default(full->max_draft, 7);
  enum tombola_status status = check_range("kind", (size_t)full->kind, 0, 2, error);
  if (status == TOMBOLA_OK) status = check_range("governor", (size_t)full->governor, 0, 2, error);
  if (status == TOMBOLA_OK)
    status = check_range("draft_tokens", full->draft_tokens, 1, TOMBOLA__MAX_DRAFT, error);
  if (status == TOMBOLA_OK) status = check_range("ngram_max", full->ngram_max, 1, TOMBOLA__MAX_NGRAM, error);
  if (status == TOMBOLA_OK) status = check_range("ngram_min", full->ngram_min, 1, full->ngram_max, error);
  if (status == TOMBOLA_OK) status = check_range("max_draft", full->max_draft, 1, TOMBOLA__MAX_DRAFT, error);
  return status;
}

static size_t most_drafted(const struct tombola_speculation_params *params) {
  return params->kind == TOMBOLA_SPECULATION_DRAFT_MODEL ? params->draft_tokens : params->max_draft;
}

static bool makes_room(tombola_speculation *s) {
  const struct tombola_allocator *allocator = &s->allocator;
  size_t most = most_drafted(&s->params);
  s->run = tombola__new(allocator, most + 1, sizeof *s->run);
  if (!s->run) return false;
  return s->params.kind != TOMBOLA_SPECULATION_DRAFT_MODEL || tombola__drafter_init(s, most);
}

enum tombola_status tombola_speculation_new(tombola_model *target,
                                            const struct tombola_speculation_params *params,
                                            const struct tombola_allocator *allocator,
                                            tombola_speculation **out, struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!target) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "target", "target is NULL");
  struct tombola_speculation_params full;
  enum tombola_status status = complete_params(params, &full, error);
  if (status == TOMBOLA_OK && full.kind == TOMBOLA_SPECULATION_DRAFT_MODEL)
    status = tombola__drafter_check(target, &full, error);
  if (status != TOMBOLA_OK) return status;
  tombola_speculation *s = tombola__new(allocator, 1, sizeof *s);
  if (!s) return tombola__no_memory(error);
  s->allocator = tombola__allocator(allocator);
  s->params = full;
  s->target = target;
  s->vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(target));
  if (!makes_room(s)) {
    tombola_speculation_free(s);
    return tombola__no_memory(error);
  }
  *out = s;
  return TOMBOLA_OK;
}

void tombola_speculation_free(tombola_speculation *speculation) {
  if (!speculation) return;
  struct tombola_allocator allocator = speculation->allocator;
  tombola__drafter_free(speculation);
  tombola__free(&allocator, speculation->run);
  tombola__free(&allocator, speculation);
}

/* ---- a round ---- */

/* How many tokens the round can use: what the answer, the context and a batch have room for. The last token
 * of the answer needn't be a draft: it is never run. */
static size_t room_for_drafts(const struct tombola__generation *g) {
  const tombola_session *session = g->session;
  size_t left = tombola__tokens_left(g) - 1, context = session->context - g->position;
  size_t most = session->batch - 1;
  most = left < most ? left : most;
  return context < most ? context : most;
}

static size_t make_draft(struct tombola__generation *g, tombola_speculation *s) {
  struct tombola_speculation_stats *stats = &g->stats.speculation;
  size_t room = room_for_drafts(g), budget = tombola__governor_budget(&s->governor);
  stats->paused_rounds += budget == 0;
  size_t most = room < budget ? room : budget, n = 0;
  if (most == 0) return 0;
  double start = tombola__now();
  if (s->params.kind == TOMBOLA_SPECULATION_DRAFT_MODEL) {
    n = tombola__drafter_draft(g, s, most, s->run + 1);
  } else {
    const tombola_token *draft;
    n = tombola__prompt_lookup(g->session->tokens, g->position, s->params.ngram_min, s->params.ngram_max,
                               most, &draft);
    if (n > 0) memcpy(s->run + 1, draft, n * sizeof *draft);
  }
  stats->draft_seconds += tombola__now() - start;
  return n;
}

/* Judges the drafts behind the rows of one batch, and draws one more token when all stood. */
static enum tombola_status judge(struct tombola__generation *g, tombola_speculation *s, size_t n,
                                 size_t *accepted) {
  const tombola_token *draft = s->run + 1;
  *accepted = 0;
  for (size_t i = 0; i <= n; i++) {
    struct tombola_row row;
    tombola_token token;
    enum tombola__verdict verdict;
    size_t position = g->position;
    double start = tombola__now();
    enum tombola_status status = tombola__row_of(g, i, &row);
    g->stats.decode_seconds += tombola__now() - start;
    if (status != TOMBOLA_OK) return status;
    if (i < n)
      status = tombola__choose_drafted(g, &row, draft[i], tombola__drafter_weights(s, i), s->p, &token);
    else
      status = tombola__choose(g, &row, &token);
    if (status != TOMBOLA_OK || g->ended || g->went_back) return status;
    bool stands = i < n && token == draft[i];
    struct tombola__taken taken = {.token = token, .logprobs = tombola_sampler_logprobs(g->sampler)};
    status = tombola__take(g, &taken, &verdict);
    if (status != TOMBOLA_OK) return status;
    *accepted += stands && g->position > position;
    if (verdict != TOMBOLA__GO_ON || !stands) return TOMBOLA_OK;
  }
  return TOMBOLA_OK;
}

static enum tombola_status drafted_round(struct tombola__generation *g, tombola_speculation *s, size_t n) {
  struct tombola_speculation_stats *stats = &g->stats.speculation;
  s->run[0] = g->session->tokens[g->position - 1];
  double start = tombola__now();
  enum tombola_status status = tombola__feed(g, s->run, n + 1, n + 1);
  g->stats.decode_seconds += tombola__now() - start;
  if (status != TOMBOLA_OK) return status;
  stats->drafted_rounds++;
  stats->drafted += n;
  size_t accepted;
  status = judge(g, s, n, &accepted);
  stats->accepted += accepted;
  tombola__governor_learn(&s->governor, accepted);
  /* A model that can't take tokens back starts again from nothing: no draft is worth that. */
  if (g->session->count == 0) s->off = true;
  return status;
}

/* Only where all but the last token is in the cache does a draft fit behind it; the row after the prompt is
 * there without a forward pass, and its token is no round's. */
static enum tombola_status speculative_round(struct tombola__generation *g) {
  tombola_speculation *s = g->round_state;
  if (g->row_valid && g->session->count == g->position) return tombola__one_token(g);
  bool ready = g->session->count + 1 == g->position;
  size_t n = ready && !s->off ? make_draft(g, s) : 0;
  g->stats.speculation.rounds++;
  return n > 0 ? drafted_round(g, s, n) : tombola__one_token(g);
}

enum tombola_status tombola__speculation_begin(struct tombola__generation *g) {
  tombola_speculation *s = g->params.speculation;
  if (!s || s->params.kind == TOMBOLA_SPECULATION_OFF) return TOMBOLA_OK;
  if (s->target != g->session->model)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "speculation",
                         "the speculation is for another model than the session's");
  bool refused = tombola_sampler_refuses_speculation(g->first) ||
                 (g->params.answer_sampler && tombola_sampler_refuses_speculation(g->params.answer_sampler));
  if (refused && !s->params.allow_refused)
    return tombola__fail(g->error, TOMBOLA_UNSUPPORTED, "speculation",
                         "this dialect's engine speculates only greedily; set temperature to 0, or allow it");
  bool looks_up = s->params.kind == TOMBOLA_SPECULATION_PROMPT_LOOKUP;
  bool governed =
      s->params.governor == TOMBOLA_GOVERNOR_DEFAULT ? looks_up : s->params.governor == TOMBOLA_GOVERNOR_ON;
  tombola__governor_init(&s->governor, governed, most_drafted(&s->params));
  s->off = g->session->batch < 2;
  g->round = speculative_round;
  g->round_state = s;
  return TOMBOLA_OK;
}

void tombola__speculation_end(struct tombola__generation *g) {
  struct tombola_speculation_stats *stats = &g->stats.speculation;
  if (stats->rounds == 0) return;
  size_t others = g->stats.forced + 1; /* and the first token, which the prompt gave */
  stats->emitted = g->stats.generated > others ? g->stats.generated - others : 0;
  stats->tokens_per_round = (double)stats->emitted / (double)stats->rounds;
  if (stats->drafted > 0) stats->acceptance_rate = (double)stats->accepted / (double)stats->drafted;
}
