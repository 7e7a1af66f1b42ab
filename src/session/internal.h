/* SPDX-License-Identifier: Apache-2.0 */
/* What the session's files share: the session, one generation, and the steps that plain decoding and
 * speculation have in common.
 *
 * A generation is a list of tokens that are taken (prompt and answer) and a cache that follows it:
 *   session->tokens[0 .. count)     what the model's cache holds
 *   session->tokens[0 .. position)  what is taken; the next token goes to `position`
 * `count` may be behind (tokens that are taken and not yet run) or ahead (drafts that were run to be judged).
 * tombola__take() makes drafts that are equal to the token taken part of the answer and cuts off others.
 *
 * A round chooses at least one token. For each of them, in order:
 *   tombola__prepare(g, &mask)   keeps the samplers' state for a rollback, gives the mask of this position
 *   g->sampler                   draws: the sampler of the phase (it may be another after each take)
 *   tombola__take(g, &taken)     end token, history, budget, bans, then the finish logic of what is released
 * and it goes on with the tokens of one batch only while that says TOMBOLA__GO_ON. tombola__choose() is
 * prepare and a plain draw. No step but tombola__feed() and tombola__catch_up() runs the model, so that the
 * rows of a batch stay valid between them; on a model that can't cut its cache, a cut empties it and catch_up
 * runs all again. */
#ifndef TOMBOLA_SESSION_INTERNAL_H
#define TOMBOLA_SESSION_INTERNAL_H

#include "base/base.h"

#include <tombola/session.h>

#include "text/automaton.h"

struct tombola_session {
  struct tombola_allocator allocator;
  tombola_model *model;
  const tombola_vocabulary *vocabulary;
  int32_t sequence;
  size_t context, batch, vocab_size;
  tombola_token *tokens; /* room for the context and the token that no longer fits, so that none allocates */
  size_t count;
  struct tombola_batch_item *items; /* room for one batch */
  uint32_t *mask;                   /* words of the mask that the session puts together */
};

/* What is known of the text at a position; small, copied for a rollback. */
struct tombola__place {
  uint16_t marker_state; /* of the think markers' automaton */
  uint16_t ban_state;    /* of the phrases' automaton */
  unsigned char lead;    /* first byte of a two-byte letter that waits for its second, or 0 */
  bool closed;           /* reasoning was closed at least once */
  bool spent;            /* the budget was used up: nothing is forced again */
  enum tombola_channel channel;
  int64_t thought; /* tokens that the budget counts */
};

/* A token that is taken and not yet reported. */
struct tombola__held {
  tombola_token token;
  bool forced, has_logprobs;
  size_t length;                /* bytes that the ban's automaton has seen of it */
  struct tombola__place before; /* the place in front of it */
  struct tombola__place after;
  tombola_snapshot *sampler, *answer; /* the samplers in front of it; only with bans */
  struct tombola_logprobs logprobs;   /* a copy, whose top is ours */
  struct tombola_logprob *top;
  size_t top_room;
};

/* A token that may not be drawn at a position (a banned phrase began with it there). */
struct tombola__banned {
  size_t position;
  tombola_token token;
};

/* What may be taken back, and what was. */
struct tombola__back {
  size_t max_rollbacks, max_tokens;
  size_t held;                  /* tokens that are held because the constraint may lead to a dead end */
  struct tombola__banned *list; /* by position */
  size_t n, room;
};

struct tombola__bans {
  struct tombola__automaton phrases;
  bool on, ignore_case;
};

struct tombola__generation {
  tombola_session *session;
  tombola_sampler *first;                /* as the caller gave them */
  tombola_sampler *second;               /* of the answering phase, or NULL */
  tombola_sampler *sampler;              /* of this position */
  struct tombola_generate_params params; /* whole */
  struct tombola_generation_stats stats;
  struct tombola_error *error;

  size_t prompt;            /* tokens of the prompt, as far as a shift has left them */
  size_t position;          /* see above */
  struct tombola_row row;   /* of the position; valid after catch_up */
  struct tombola_mask mask; /* of the position; valid until the next prepare */
  bool row_valid;           /* nobody has run the model since it was fetched */
  bool ended;               /* stats.stop says why */
  bool refused;             /* the caller takes no more text */
  double deadline;          /* 0: none */

  /* Another way to choose tokens than one at a time; NULL for that. It starts wherever the list and the cache
   * are, and takes at least one token, or ends the generation, or fails. */
  enum tombola_status (*round)(struct tombola__generation *g);
  void *round_state;

  struct tombola__place place;            /* at the position */
  tombola_text *text;                     /* or NULL */
  struct tombola_text_params text_params; /* whole */
  struct tombola__automaton markers;
  bool has_markers;
  struct tombola_think_budget budget; /* whole */
  tombola_token *forced;              /* what ends the thinking, and how much of it is still to be said */
  size_t n_forced, forced_left;

  struct tombola__held one;   /* the ring of a generation without bans */
  struct tombola__held *held; /* a ring */
  size_t held_first, n_held, held_room;
  struct tombola__back back;
  struct tombola__bans bans;
  bool went_back; /* the last step took tokens back instead of choosing one: start again from the position */

  /* Tokens whose text may end a marker; of them, those that hold a whole one come first. Only with a matcher. */
  tombola_token *enders;
  size_t n_enders, n_whole;
  bool
      only_ends; /* the mask of the position allows nothing but end tokens: the constraint is met and can't go on */

  tombola_token *loop_ring; /* the last tokens reported, by index modulo loop_period */
  size_t *loop_runs;        /* for each period how many tokens repeat the one a period before */
};

/* What a round knows after a token. */
enum tombola__verdict {
  TOMBOLA__GO_ON, /* taken; the next token of the batch may be judged */
  TOMBOLA__TURN,  /* what follows isn't what the batch assumed (a rollback, a forced token, a shift): drop the
                     rest */
  TOMBOLA__ENDED  /* the generation is over: g->stats.stop */
};

struct tombola__taken {
  tombola_token token;
  bool forced;
  const struct tombola_logprobs *logprobs; /* copied; or NULL */
};

/* ---- cache.c: the cache follows the list ---- */

/* Runs `count` tokens (at most a batch) behind the cache and puts them into the list; the logits of the last
 * `rows` of them can be had with tombola__row_of(). On an error the cache is as before. */
enum tombola_status tombola__feed(struct tombola__generation *g, const tombola_token *tokens, size_t count,
                                  size_t rows);
/* The row behind the i-th token of the last feed. */
enum tombola_status tombola__row_of(struct tombola__generation *g, size_t i, struct tombola_row *row);
/* Cuts the cache to its first `keep` tokens, or empties it where the model can't. */
enum tombola_status tombola__cut(struct tombola__generation *g, size_t keep);
/* Runs what is taken and not in the cache, so that g->row is the row of the position. */
enum tombola_status tombola__catch_up(struct tombola__generation *g);
/* Makes room in a full context; true when there is some. */
enum tombola_status tombola__shift_context(struct tombola__generation *g, bool *made_room);

/* ---- finish.c: from a token to the caller ---- */

/* The state of the samplers is kept, and *mask is the mask of this position or NULL. After this step and those below a
 * dead end may have set g->went_back or ended the generation: then there is nothing to draw. */
enum tombola_status tombola__prepare(struct tombola__generation *g, const struct tombola_mask **mask);
/* The mask of this position alone; g->mask.words is NULL where all is allowed. NO_CANDIDATE, without an error: a dead end
 * of the constraint. */
enum tombola_status tombola__mask_here(struct tombola__generation *g);
/* The words of that mask, to take tokens out; a mask that was borrowed is copied first. */
uint32_t *tombola__own_mask(struct tombola__generation *g);
/* Draws from `row` under the mask of the position. */
enum tombola_status tombola__draw_token(struct tombola__generation *g, const struct tombola_row *row,
                                        const struct tombola_mask *mask, tombola_token *token);
/* Prepares, and draws from `row`. A dead end of the bans ends the generation: OK, and g->ended. */
enum tombola_status tombola__choose(struct tombola__generation *g, const struct tombola_row *row,
                                    tombola_token *token);
/* The same, judging a token that was drafted from q; NULL: a draft that could only be this one. p is room for
 * a distribution. */
enum tombola_status tombola__choose_drafted(struct tombola__generation *g, const struct tombola_row *row,
                                            tombola_token draft, const float *q, float *p,
                                            tombola_token *token);
/* The one way a token becomes part of the answer. */
enum tombola_status tombola__take(struct tombola__generation *g, const struct tombola__taken *taken,
                                  enum tombola__verdict *verdict);
/* Reports all that is held back. */
enum tombola_status tombola__release_all(struct tombola__generation *g);
/* The i-th token that is held back, the oldest first; i may be n_held, the one that comes next. */
struct tombola__held *tombola__held_at(struct tombola__generation *g, size_t i);
/* Ends the generation, unless something has ended it before. */
void tombola__end(struct tombola__generation *g, enum tombola_stop stop);
/* Chooses the sampler of this place. */
void tombola__set_sampler(struct tombola__generation *g);
/* How many more tokens may be taken before max_tokens ends the answer, for a round that plans a batch. */
size_t tombola__tokens_left(const struct tombola__generation *g);
/* The sampler's own explanation of a failure, in place of the session's. */
enum tombola_status tombola__sampler_failed(const struct tombola__generation *g,
                                            const tombola_sampler *sampler, enum tombola_status status);
/* The bytes of a token that count as text. */
const char *tombola__text_of(const struct tombola__generation *g, tombola_token token, size_t *length);

/* ---- phrase_ban.c ---- */

enum tombola_status tombola__bans_init(struct tombola__generation *g);
void tombola__bans_free(struct tombola__generation *g);
/* Steps over a token's text from g->place; the number of bytes from the start of a phrase to its end when one
 * is complete, with *used set to how many bytes of the token are read by then; else 0. */
size_t tombola__bans_scan(struct tombola__generation *g, const char *bytes, size_t length, size_t *used);
/* Goes back in front of the held token that the phrase (of so many bytes, the last of which is the `used`-th
 * of the newest token) begins with. When the limits are used up, the generation ends there. */
enum tombola_status tombola__bans_roll_back(struct tombola__generation *g, size_t phrase, size_t used);
/* How many of the newest held tokens a phrase could still begin with. */
size_t tombola__bans_hold(const struct tombola__generation *g);

/* ---- rollback.c ---- */

/* Room for so many held tokens, before there are any. */
enum tombola_status tombola__hold_room(struct tombola__generation *g, size_t room);
/* Goes back in front of the held token `first`, counted from the oldest, and bans it there; *again is false when the
 * limits are used up: nothing is banned then. */
enum tombola_status tombola__go_back(struct tombola__generation *g, size_t first, bool *again);
/* Takes the bans of this position out of the mask's words; whether there were any. */
bool tombola__bans_apply(const struct tombola__generation *g, uint32_t *words);

/* ---- constraint.c ---- */

enum tombola_status tombola__constraint_init(struct tombola__generation *g);
/* Leaves the matcher as the answer ended. */
void tombola__constraint_end(struct tombola__generation *g);
/* NO_CANDIDATE, without an error: a dead end. */
enum tombola_status tombola__constraint_mask(struct tombola__generation *g, struct tombola_mask *mask);
/* Takes out of the mask of the position what the constraint can't have there beside its own mask. */
void tombola__constraint_bans(struct tombola__generation *g);
enum tombola_status tombola__constraint_take(struct tombola__generation *g, tombola_token token);
enum tombola_status tombola__constraint_go_back(struct tombola__generation *g, size_t tokens);
/* Goes back by a token, or fails. */
enum tombola_status tombola__constraint_dead_end(struct tombola__generation *g);

/* ---- think.c: where reasoning begins and ends, and its budget ---- */

enum tombola_status tombola__think_init(struct tombola__generation *g);
void tombola__think_free(struct tombola__generation *g);
/* Steps over a token's text. */
void tombola__think_scan(struct tombola__generation *g, const char *bytes, size_t length);
/* Counts a token; starts the forced end when the budget is used up. */
void tombola__think_count(struct tombola__generation *g, enum tombola_channel before);

/* ---- generate.c ---- */

/* A round of one token. */
enum tombola_status tombola__one_token(struct tombola__generation *g);

/* ---- speculation.c ---- */

/* Makes rounds of the generation draft and judge, if its parameters have a speculation. */
enum tombola_status tombola__speculation_begin(struct tombola__generation *g);
/* Completes the statistics, once all is released. */
void tombola__speculation_end(struct tombola__generation *g);

/* ---- session.c ---- */

double tombola__now(void);

#endif
