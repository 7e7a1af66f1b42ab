/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one conversation's place in a model's cache, and the loop that turns a prompt into tokens.
 * Semantics after rml's Session (its generation.h): the whole context is passed each time, the part that the
 * cache already holds is reused (at most prompt - 1 tokens), the rest runs in chunks, then tokens are
 * sampled, reported and fed back one at a time. A session belongs to one thread, as its model does. */
#ifndef TOMBOLA_SESSION_H
#define TOMBOLA_SESSION_H

#include <tombola/constraint.h>
#include <tombola/model.h>
#include <tombola/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a generation ended. For each token the loop looks in this order: END_TOKEN, STOP_STRING, CALLER, LOOP,
 * MAX_TOKENS, TIME_LIMIT, CONTEXT_FULL. BAN: no way led around the banned phrases. */
#define TOMBOLA_STOP_MAP(X)                 \
  X(END_TOKEN, "end_token", "stop")         \
  X(CALLER, "caller", "stop")               \
  X(MAX_TOKENS, "max_tokens", "length")     \
  X(CONTEXT_FULL, "context_full", "length") \
  X(STOP_STRING, "stop_string", "stop")     \
  X(BAN, "ban", "stop")                     \
  X(LOOP, "loop", "stop")                   \
  X(TIME_LIMIT, "time_limit", "stop")

enum tombola_stop {
#define TOMBOLA_STOP_ENUM(suffix, name, finish) TOMBOLA_STOP_##suffix,
  TOMBOLA_STOP_MAP(TOMBOLA_STOP_ENUM)
#undef TOMBOLA_STOP_ENUM
};

/* The precise cause ("context_full"), and what OpenAI's finish_reason would say ("stop", "length"). */
TOMBOLA_API const char *tombola_stop_name(enum tombola_stop stop);
TOMBOLA_API const char *tombola_stop_finish(enum tombola_stop stop);

/* A token that was generated. Its bytes are the vocabulary's, not NUL-terminated. */
struct tombola_token_event {
  tombola_token token;
  const char *bytes;
  size_t length;
  size_t index; /* 0 for the first token of the answer */

  int forced;                   /* 1: it wasn't sampled: the end of the thinking that ran out of its budget */
  enum tombola_channel channel; /* that is open after this token */
  /* As the sampler was asked for them; NULL for none, and for a token that was forced. Valid until the
   * callback returns. */
  const struct tombola_logprobs *logprobs;
};

/* Called for each generated token (not for the end token), after on_piece has got the text that the token
 * completed; returns 0 to end the generation (TOMBOLA_STOP_CALLER). With banned phrases it comes as late as
 * the text: once no phrase can begin with the token any more. */
typedef int (*tombola_token_fn)(void *context, const struct tombola_token_event *event);

/* Called before each chunk of the prompt; `done` of `total` tokens have run. Returns 0 to give up (CANCELLED;
 * the session keeps what has run). */
typedef int (*tombola_prefill_fn)(void *context, size_t done, size_t total);

/* Told that the context was full and `discarded` tokens behind the first `kept` ones were forgotten. */
typedef void (*tombola_shift_fn)(void *context, size_t kept, size_t discarded);

/* A further mask for the next token (a constraint's); `answer` are the tokens of the answer so far, those
 * that a banned phrase may still take back among them. The same tokens must give the same mask. Leave *mask
 * alone for no mask. Another status than OK ends the generation with it. */
typedef enum tombola_status (*tombola_mask_fn)(void *context, const tombola_token *answer, size_t count,
                                               struct tombola_mask *mask);

/* How long the model may think: `tokens` of reasoning (0 or more), then `closing` and the pipe's closing
 * marker are put in its mouth, once. A token that opens the block isn't counted. Where the vocabulary can't
 * spell the marker nothing is forced, and the statistics say so. */
struct tombola_think_budget {
  size_t struct_size;
  int64_t tokens;
  const char *closing; /* a sentence in front of the marker, or NULL */
  /* 1: rMLX's rule (its thinking_budget): every token counts after which the block is open, the one that
   * opened it too; the marker follows the first token beyond the budget, and is the last token of its
   * encoding. */
  int rule_of_pieces;
};

/* Phrases that must not occur in the answer, as bytes, whatever tokens spell them. A token is held back as
 * long as a phrase could still form with it; when one forms, the session goes back to the phrase's first
 * token, bans it there and goes on. The reasoning is searched too. Forced tokens are neither searched nor
 * taken back. */
struct tombola_phrase_bans {
  size_t struct_size;
  const struct tombola_bytes *phrases; /* none empty; at most 16384 bytes in all */
  size_t n_phrases;
  int ignore_case; /* 1: for ASCII, Latin-1, basic Greek and Cyrillic letters */
  size_t
      max_rollbacks; /* of one generation; 0: 256. Beyond it the answer ends in front of the phrase (BAN) */
  size_t max_tokens; /* that may be taken back in all; 0: 4096 */
};

/* ---- speculation ---- */

/* Where drafts come from. */
enum tombola_speculation_kind {
  TOMBOLA_SPECULATION_OFF = 0,
  TOMBOLA_SPECULATION_DRAFT_MODEL = 1, /* a smaller model with the same vocabulary */
  TOMBOLA_SPECULATION_PROMPT_LOOKUP =
      2 /* the text itself: what followed the last tokens where they occurred before */
};

/* Whether the length of drafts follows what was accepted before, and rounds without a draft follow several
 * that were wrong at once. */
enum tombola_governor {
  TOMBOLA_GOVERNOR_DEFAULT = 0, /* on for prompt lookup, off for a draft model */
  TOMBOLA_GOVERNOR_ON = 1,
  TOMBOLA_GOVERNOR_OFF = 2
};

/* All zero but struct_size and kind means the defaults. */
struct tombola_speculation_params {
  size_t struct_size;
  enum tombola_speculation_kind kind;
  tombola_model *draft;   /* DRAFT_MODEL; borrowed */
  int32_t draft_sequence; /* the sequence of the draft model that is used, by nobody else */
  size_t draft_tokens;    /* of a round, from a draft model; 1 to 64, 0: 4 */
  size_t ngram_max;       /* PROMPT_LOOKUP: the longest run of tokens that is looked for; 1 to 16, 0: 3 */
  size_t ngram_min;       /* the shortest; 1 to ngram_max, 0: 2, or ngram_max when that is less */
  size_t max_draft;       /* of a round, from the text; 1 to 64, 0: 7 */
  enum tombola_governor governor;
  int allow_refused; /* 1: also where the dialect's engine refuses it (rMLX, when it samples) */
};

/* Speculation for sessions of one model: several tokens are drafted, run in one batch and judged, so that a
 * forward pass gives more than one token. The answer has exactly the law that it has without: greedily the
 * same tokens (as far as the model's own arithmetic is the same in a batch), sampled the same distribution,
 * though not the same random numbers. It holds the draft model's place; one generation at a time uses it. */
typedef struct tombola_speculation tombola_speculation;

/* `target` and the draft model must outlive it. Drafts of a draft model whose vocabulary has another size are kept
 * within the target's. INVALID_ARGUMENT: a value out of range, no draft model, the target itself as one,
 * or a token that the two models spell differently: the message gives its id and both spellings.
 * NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_speculation_new(tombola_model *target,
                                                        const struct tombola_speculation_params *params,
                                                        const struct tombola_allocator *allocator,
                                                        tombola_speculation **out,
                                                        struct tombola_error *error);
TOMBOLA_API void tombola_speculation_free(tombola_speculation *speculation);

/* What speculation did in one generation. */
struct tombola_speculation_stats {
  size_t rounds;         /* forward passes of the target after the prompt's */
  size_t drafted_rounds; /* those that had a draft */
  size_t paused_rounds;  /* those in which the governor paused */
  size_t drafted;        /* tokens proposed */
  size_t accepted;       /* of them, those that were taken; a banned phrase may have taken some back later */
  size_t emitted;        /* tokens of the answer but for the first, which the prompt gave, and forced ones */
  size_t failures;       /* rounds in which the draft model gave nothing: it failed, or its context is full */
  double acceptance_rate;  /* accepted / drafted; 0 without drafts */
  double tokens_per_round; /* emitted / rounds; 0 without rounds */
  double draft_seconds;
};

/* ---- one generation ---- */

struct tombola_generate_params {
  size_t struct_size;
  int64_t max_tokens; /* > 0 */
  int ignore_end; /* 1: the vocabulary's end tokens are banned from the draw instead of ending the answer */
  const tombola_token *stop_ids; /* further end tokens, or NULL; they end the answer under ignore_end too */
  size_t n_stop_ids;
  tombola_token_fn on_token;     /* or NULL */
  tombola_prefill_fn on_prefill; /* or NULL */
  void *context;                 /* of all callbacks */

  /* The text of the answer: its pipe, and who gets the pieces. NULL: no pipe, no stop strings. A special
   * token has no text, unless it spells one of the markers. on_piece returns 0 to end the generation
   * (CALLER). */
  const struct tombola_text_params *text;
  tombola_piece_fn on_piece; /* or NULL */

  const struct tombola_think_budget *think_budget; /* or NULL; needs the markers of `text` */
  const struct tombola_phrase_bans *bans;          /* or NULL */
  /* Samples instead once reasoning was closed, while it isn't opened again. Both samplers see the prompt and
   * every token. NULL: one sampler for all. */
  tombola_sampler *answer_sampler;
  int64_t min_tokens; /* end tokens and stop_ids are banned from the draw until there are so many tokens */
  double time_limit;  /* seconds from the call on, looked at between forward passes; 0: none */
  /* Ends the answer when its last tokens are one pattern of at most loop_period tokens, loop_repeats times in
   * a row (2 or more). 0: off. loop_period is at most 4096. */
  size_t loop_period, loop_repeats;
  /* 1: a full context doesn't end the answer; the first keep_tokens stay, of the others the older half is
   * forgotten and the rest moves up. UNSUPPORTED at once where the model can't. */
  int context_shift;
  size_t keep_tokens;
  tombola_shift_fn on_shift; /* or NULL */
  tombola_mask_fn on_mask;   /* or NULL; not together with context_shift */
  tombola_speculation
      *speculation; /* or NULL; of the session's model. UNSUPPORTED where the dialect refuses it */
  /* Where a mask lists one token only, it is taken without being drawn, and the model runs a row of such tokens in one
   * batch; the law of the answer is the same. 1: each is drawn, from a row of its own. */
  int no_jump_ahead;
  /* The constraint of the answer, or NULL: a matcher at the place where the answer begins, made over this model's
   * vocabulary; it follows the answer and is left at its end. It stands aside while reasoning is open. Where its text
   * is complete and can't go on the answer ends, whatever min_tokens and ignore_end say. Not together with on_mask or
   * context_shift. */
  tombola_matcher *matcher;
  /* A constraint that may lead to a dead end: how many of the newest tokens are held back, to be taken back there; 0:
   * 64. The limits of `bans` on rollbacks hold for both. */
  size_t backtrack_tokens;
};

/* What became of the thinking budget. */
enum tombola_think_outcome {
  TOMBOLA_THINK_OPEN = 0,   /* none was set, or it wasn't used up */
  TOMBOLA_THINK_CLOSED = 1, /* the end was forced */
  TOMBOLA_THINK_IGNORED = 2 /* a warning: the vocabulary can't spell the marker, so there was no budget */
};

struct tombola_generation_stats {
  size_t prompt_run;    /* prompt tokens that were computed */
  size_t prompt_reused; /* prompt tokens that the cache held */
  size_t generated;     /* tokens reported */
  double prefill_seconds;
  double decode_seconds; /* forward passes of generated tokens */
  double sample_seconds;
  enum tombola_stop stop; /* why it ended; means nothing after an error */

  int stop_string;     /* the index of the stop string that ended it, or -1 */
  size_t reasoning;    /* tokens reported while reasoning was open */
  size_t forced;       /* tokens reported that weren't sampled */
  size_t rollbacks;    /* banned phrases that formed and were taken back */
  size_t rolled_back;  /* and their tokens, which were computed for nothing */
  size_t shifts;       /* of the context */
  size_t shifted_away; /* tokens forgotten by them */
  enum tombola_think_outcome think;
  struct tombola_speculation_stats speculation;
  size_t jumped;             /* tokens taken because no other was allowed, without a draw */
  size_t dead_ends;          /* of the constraint; what they cost is in rollbacks and rolled_back */
  double constraint_seconds; /* masks, and following the answer */
};

typedef struct tombola_session tombola_session;

/* A session on sequence `sequence` of the model, which is borrowed and must outlive it. INVALID_ARGUMENT (no
 * such sequence), NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_session_new(tombola_model *model, int32_t sequence,
                                                    const struct tombola_allocator *allocator,
                                                    tombola_session **out, struct tombola_error *error);
TOMBOLA_API void tombola_session_free(tombola_session *session);

/* Generates after `prompt`, the whole context so far. The sampler is reset to see exactly this prompt as its
 * history and goes on with its generator. `stats` may be NULL; it is filled on errors too, with what was
 * done. INVALID_ARGUMENT: an empty prompt, a token outside the vocabulary, max_tokens < 1, parameters out of
 * range or that don't go together. OUT_OF_RANGE: the prompt is longer than the context. Otherwise what the
 * sampler or the forward pass returned; the session stays usable, and its cache is what session_tokens()
 * says. */
TOMBOLA_API enum tombola_status tombola_session_generate(tombola_session *session, tombola_sampler *sampler,
                                                         const tombola_token *prompt, size_t count,
                                                         const struct tombola_generate_params *params,
                                                         struct tombola_generation_stats *stats,
                                                         struct tombola_error *error);

/* A session on another sequence of the same model, with what this one's cache holds: copied, not computed.
 * What another session left on that sequence is lost. INVALID_ARGUMENT (no such sequence, or the session's
 * own), UNSUPPORTED (a model that can't copy), NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_session_fork(const tombola_session *session, int32_t sequence,
                                                     const struct tombola_allocator *allocator,
                                                     tombola_session **out, struct tombola_error *error);

/* Writes the cache of the session to a file (a new one takes the place of an old one once it is whole), so
 * that a later run needn't compute it. IO, UNSUPPORTED (a model that can't), NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_session_save(tombola_session *session, const char *path,
                                                     struct tombola_error *error);

/* Puts back what was saved. NOT_FOUND, IO, NO_MEMORY; FORMAT: no file of tombola, damaged, cut short, or of
 * another model; OUT_OF_RANGE: more tokens than the context has. On all of these the session is as before.
 * MODEL: the model refused a state that looked right; the session then is empty. */
TOMBOLA_API enum tombola_status tombola_session_load(tombola_session *session, const char *path,
                                                     struct tombola_error *error);

/* The tokens that the cache holds; owned by the session, valid until its next call. */
TOMBOLA_API const tombola_token *tombola_session_tokens(const tombola_session *session, size_t *count);

/* Empties the cache of this sequence. */
TOMBOLA_API void tombola_session_clear(tombola_session *session);

#ifdef __cplusplus
}
#endif
#endif
