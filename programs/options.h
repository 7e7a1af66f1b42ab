/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one table of options (options_table.c), one structure that they fill, and the list of
 * commands. The sampler's parameters are not repeated here: their options are made of the rows of
 * tombola_param_at(). To add an option, add a member to struct options and a row to the table; help,
 * --print-config, the check of the value and the hints for typing errors come from the row. */
#ifndef TOMBOLA_PROGRAMS_OPTIONS_H
#define TOMBOLA_PROGRAMS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tombola/tombola.h>

/* Exit statuses. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INCOMPLETE = 3, EXIT_INTERRUPTED = 130 };

struct options;

/* ---- commands ---- */

/* A set of commands, for the `commands` member of an option's row. */
enum {
  COMMAND_RUN = 1,
  COMMAND_CHAT = 2,
  COMMAND_MODELS = 4,
  COMMAND_SAMPLE = 8,
  COMMAND_BENCH = 16,
  COMMAND_SELFTEST = 32,
  COMMAND_DIALECTS = 64,
  COMMAND_SCHEMA = 128,
  COMMAND_ANSWERS = COMMAND_RUN | COMMAND_CHAT, /* what loads a model and answers */
  COMMAND_SAMPLES = COMMAND_ANSWERS | COMMAND_SAMPLE,
  COMMAND_CONSTRAINS = COMMAND_ANSWERS | COMMAND_SCHEMA,
  COMMAND_ALL = 255
};

struct command {
  const char *name;
  unsigned bit;
  const char *task;    /* heading under which `tombola --help` lists it; rows of a task stand together */
  const char *summary; /* one line */
  const char
      *operands; /* placeholder of what may follow without a flag ("[FILE]"), or NULL when nothing may */
  int (*run)(struct options *options); /* returns the exit status */
};

/* The commands; the list ends with a row whose name is NULL. */
extern const struct command commands[];
const struct command *command_find(const char *name);

/* Each is in the file of its name. */
int command_run(struct options *options);
int command_chat(struct options *options);
int command_models(struct options *options);
int command_sample(struct options *options);
int command_bench(struct options *options);
int command_dialects(struct options *options);
int command_schema(struct options *options);
int command_selftest(struct options *options);

/* ---- values ---- */

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum stats_format { STATS_TEXT, STATS_JSON };

/* A bias for a token that is given as text; the vocabulary that knows it comes later. */
struct text_bias {
  char *text;
  float bias;
};

/* Everything that the command line says, with defaults filled in. Texts belong to argv or to the structure.
 */
struct options {
  const struct command *command;
  const char *const *operands;
  size_t n_operands;

  /* The sampler, resolved: dialect, then flags. Its lists point into this structure. */
  struct tombola_sampler_params sampler;

  /* The same for the answer after the reasoning, where --answer-* says so. */
  struct tombola_sampler_params answer_sampler;
  bool has_answer_sampler;

  const char *preset;        /* or NULL */
  const char *model;         /* path or "script:FILE"; NULL: the default model */
  const char *prompt;        /* or NULL */
  const char *file;          /* prompt file, or NULL */
  const char *system;        /* or NULL */
  const char *chat_template; /* name or source; NULL: the model's own */
  int64_t max_tokens;
  int64_t context; /* 0: not given */
  int64_t threads; /* 0: not given */
  int kv;          /* enum tombola_kv_type */
  int color;       /* enum color_mode */
  bool ignore_eos;

  /* What ends or steers an answer. */
  struct tombola_bytes *stops; /* owned, their texts too */
  size_t n_stops;
  struct tombola_bytes *bans; /* owned, their texts too */
  size_t n_bans;
  bool ban_ignore_case;
  int64_t min_tokens;
  double time_limit; /* seconds; 0: none */
  int64_t loop_period, loop_repeats;
  bool context_shift;
  int64_t think_budget; /* -1: none */
  const char *think_open, *think_close;
  bool hide_thinking;

  /* The constraint of an answer: one of the first seven. */
  bool json_object;
  const char *json_schema; /* a file, or the schema itself */
  const char *json_schema_file;
  const char *regex, *grammar, *grammar_file;
  struct tombola_bytes *choices; /* owned, their texts too */
  size_t n_choices;
  int64_t json_whitespace; /* bytes a place; JSON_WHITESPACE_ANY, 0: none */
  int json_format;         /* enum tombola_format */
  int json_order;          /* enum tombola_property_order */
  int json_spelling;       /* enum tombola_spelling */
  bool json_nullable, json_lenient;
  struct tombola_bytes *instances, *refs; /* of `schema`; owned, their texts too */
  size_t n_instances, n_refs;

  /* Speculation. */
  const char *draft_model;
  int draft_kind; /* enum tombola_speculation_kind; OFF: as draft_model and prompt_lookup say */
  bool prompt_lookup;
  int64_t draft_tokens; /* 0: not given */

  const char *prompt_cache;
  int64_t logprobs;   /* 0: none */
  int logprobs_stage; /* enum tombola_logprob_stage */
  const char *trace_file;
  bool timings;
  int stats; /* enum stats_format */

  bool quiet;
  bool verbose;
  bool json;
  bool print_config;
  bool help;

  /* tombola sample */
  const char *history; /* token ids, separated by commas, or NULL */
  const char *mask;    /* the allowed ids, or NULL */
  int row_format;      /* enum row_format */
  int64_t draws;
  bool batch;
  bool trace;
  const char *watch; /* token ids, or NULL */

  /* tombola bench */
  const char *bench_case; /* one case, or NULL for all */
  int64_t bench_vocab;    /* one size, or 0 for the usual ones */
  int64_t bench_runs;     /* 0: not given */

  /* Owned. */
  const char **samplers;
  struct tombola_logit_bias *logit_bias;
  struct tombola_logit_bias *bias_file;
  struct text_bias *text_bias; /* until options_resolve_bias() */
  size_t n_text_bias;
  char **breakers;
  tombola_token *suppress;
  char **owned; /* texts of the environment and of presets */
  size_t n_owned;
  unsigned char *origins; /* enum option_origin of each option */
};

/* ---- the table ---- */

enum { JSON_WHITESPACE_ANY = -1 };

/* What an option's value is, and with that the type of the member that `offset` names. */
enum option_kind {
  OPTION_SWITCH,  /* bool; takes no value */
  OPTION_TEXT,    /* const char * */
  OPTION_INTEGER, /* int64_t from min to max */
  OPTION_SECONDS, /* double, above 0 and at most max */
  OPTION_CHOICE,  /* int: index in `choices` */
  OPTION_PARAM,   /* a parameter of the sampler */
  OPTION_ANSWER,  /* the same, of the sampler after the reasoning */
  OPTION_CUSTOM   /* `set` does it */
};

enum option_group {
  GROUP_MODEL,
  GROUP_PROMPT,
  GROUP_ANSWER,
  GROUP_CONSTRAINT,
  GROUP_SAMPLING,
  GROUP_SAMPLE,
  GROUP_BENCH,
  GROUP_OUTPUT,
  GROUP_COUNT
};

/* Where a value comes from, weakest first. */
enum option_origin {
  ORIGIN_DEFAULT,
  ORIGIN_DIALECT,
  ORIGIN_MODEL,
  ORIGIN_PRESET,
  ORIGIN_ENVIRONMENT,
  ORIGIN_FLAG,
  ORIGIN_COUNT
};

typedef enum tombola_status (*option_set_fn)(struct options *options, const char *text,
                                             struct tombola_error *error);
/* Writes the value as text for --print-config, NUL-terminated and cut to `size`. */
typedef void (*option_show_fn)(const struct options *options, char *text, size_t size);

struct option {
  const char *name;           /* canonical, without "--"; '_' and '-' are the same */
  const char *const *aliases; /* NULL-terminated, or NULL; one letter is "-x"; "-xy" stands for itself; others are "--alias" */
  enum option_kind kind;
  enum option_group group;
  unsigned commands;
  const char *value; /* placeholder of the value in the help, or NULL */
  const char *help;
  const char *unset; /* what --print-config shows while the value is not given, or NULL: the value itself */
  size_t offset;
  int64_t min, max;
  const char *const *choices;             /* NULL-terminated */
  option_set_fn set;                      /* OPTION_CUSTOM; `text` is NULL when `value` is */
  option_show_fn show;                    /* OPTION_CUSTOM, or NULL: another option shows it */
  const struct tombola_param_info *param; /* OPTION_PARAM, OPTION_ANSWER */
  bool repeats;                           /* each value adds to those before */
  bool unlimited;                         /* OPTION_INTEGER: -1, beside min to max, is no limit */
};

/* A name or an alias as the command line spells it: dashes in front, '-' for '_'. */
void option_spell(char *spelled, size_t size, const char *name);

/* The option of an index; false past the end. Rows of the table first, then the sampler's parameters,
 * then these for the answer alone. */
bool option_at(size_t index, struct option *option);

bool option_takes_value(const struct option *option);

/* Whether `name`, without its dashes, is the option's name or an alias. */
bool option_is_named(const struct option *option, const char *name, size_t length);

/* The index of the option of that name or alias, one of these commands rather than another; SIZE_MAX when there
 * is none. `dashes` is the number that stood before the name: one letter takes one, longer names take two. */
size_t option_find(const char *name, size_t length, int dashes, unsigned command_bits);

/* Whether an option of that name is known from the plan but not made yet. */
bool option_is_planned(const char *name, size_t length);

/* Copies a text, with \n, \t, \r, \" and \\ as what they stand for; NULL: no memory. */
char *option_unescape(const char *text);

/* Adds the ids of "1,2,3" behind the *count that are there; room for option_ids_room() more is the caller's.
 * INVALID_ARGUMENT, with a message that names `name` and the text. */
size_t option_ids_room(const char *text);
enum tombola_status option_read_ids(const char *text, const char *name, tombola_token *ids, size_t *count,
                                    struct tombola_error *error);

/* The setters and showers of the custom rows: what steers an answer (options_answer.c), */
enum tombola_status option_set_stop(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_ban(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_choice(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_instance(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_ref(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_whitespace(struct options *options, const char *text, struct tombola_error *error);
void option_show_choice(const struct options *options, char *text, size_t size);
void option_show_instance(const struct options *options, char *text, size_t size);
void option_show_ref(const struct options *options, char *text, size_t size);
void option_show_whitespace(const struct options *options, char *text, size_t size);
enum tombola_status option_set_loop_guard(struct options *options, const char *text,
                                          struct tombola_error *error);
enum tombola_status option_set_draft(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_draft_kind(struct options *options, const char *text,
                                          struct tombola_error *error);
enum tombola_status option_set_bias_file(struct options *options, const char *text,
                                         struct tombola_error *error);
bool option_draft_is_number(const char *text); /* --draft takes a number or a path */
void option_show_draft_kind(const struct options *options, char *text, size_t size);
void option_show_bias_file(const struct options *options, char *text, size_t size);
void option_show_stop(const struct options *options, char *text, size_t size);
void option_show_ban(const struct options *options, char *text, size_t size);
void option_show_loop_guard(const struct options *options, char *text, size_t size);
void options_free_answer(struct options *options); /* their lists */

/* and the sampler's (options_values.c). */
enum tombola_status option_set_greedy(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_samplers(struct options *options, const char *text,
                                        struct tombola_error *error);
enum tombola_status option_set_letters(struct options *options, const char *text,
                                       struct tombola_error *error);
enum tombola_status option_set_bias(struct options *options, const char *text, struct tombola_error *error);
enum tombola_status option_set_dialect(struct options *options, const char *text,
                                       struct tombola_error *error);
enum tombola_status option_set_breaker(struct options *options, const char *text,
                                       struct tombola_error *error);
enum tombola_status option_set_suppress(struct options *options, const char *text,
                                        struct tombola_error *error);
void option_show_breakers(const struct options *options, char *text, size_t size);
void option_show_suppress(const struct options *options, char *text, size_t size);
void option_show_samplers(const struct options *options, char *text, size_t size);
void option_show_bias(const struct options *options, char *text, size_t size);
void option_show_seed(const struct options *options, char *text, size_t size);
void option_show_dialect(const struct options *options, char *text, size_t size);

/* ---- parsing ---- */

/* Fills `options` from the arguments that follow the command. Returns EXIT_OK, or says on standard error what
 * is wrong and returns EXIT_USAGE (EXIT_FAILED when there is no memory). The structure is to be freed either
 * way. */
int options_parse(struct options *options, const struct command *command, int argc, char **argv);
void options_free(struct options *options);

/* Turns biases that are given as text into biases of tokens; `vocabulary` may be NULL, then there must be
 * none. INVALID_ARGUMENT when a text is not exactly one token. Call it before tombola_sampler_new. */
enum tombola_status options_resolve_bias(struct options *options, const tombola_vocabulary *vocabulary,
                                         struct tombola_error *error);

/* Sets an option of the sampler or of the answer later on, from the chat. A list is replaced; "none" empties it. Returns
 * the exit status after a complaint; the options then are as before. */
int options_set(struct options *options, const char *name, const char *text);

/* Prints the options that options_set() takes, or the one of that name; false when there is none. */
bool options_show(const struct options *options, const char *name, FILE *out);

/* Whether a text says yes or no; false when neither. */
bool option_truth(const char *text, bool *value);

/* Whether options_set() takes it. */
bool option_is_changeable(const struct option *option);

/* Prints each option of the command with its value and its origin, as lines or as JSON. Returns the exit
 * status. */
int options_print(const struct options *options);

/* `tombola --help`, `tombola COMMAND --help`, `tombola --version`, on standard output. */
int help_print(void);
int help_print_command(const struct command *command);
int version_print(void);

#endif
