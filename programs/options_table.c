/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options. Rows of a group stand in the order of the help. The sampler's parameters follow the table,
 * from the library's own rows; a row here of a parameter's name (seed) replaces the generated one, to add an alias. */
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <tombola/model.h>

#define ALIASES(...)                                                                                         \
  (const char *const[]) { __VA_ARGS__, NULL }
#define AT(member) offsetof(struct options, member)

static const struct option table[] = {
    {.name = "model", .aliases = ALIASES("m"), .kind = OPTION_TEXT, .group = GROUP_MODEL,
     .commands = COMMAND_CONSTRAINS, .value = "PATH", .offset = AT(model), .unset = "SmolLM2-135M-Instruct of the cache",
     .help = "GGUF file, or script:FILE for a model that plays back"},
    {.name = "ctx", .aliases = ALIASES("c", "ctx-size", "n-ctx"), .kind = OPTION_INTEGER, .group = GROUP_MODEL,
     .commands = COMMAND_ANSWERS, .value = "N", .offset = AT(context), .min = 1, .max = 1 << 24,
     .unset = "4096, or what the model was trained for", .help = "positions of the context"},
    {.name = "threads", .aliases = ALIASES("t"), .kind = OPTION_INTEGER, .group = GROUP_MODEL,
     .commands = COMMAND_ANSWERS, .value = "N", .offset = AT(threads), .min = 1, .max = 1024,
     .unset = "as the machine has cores", .help = "threads that compute"},
    {.name = "draft-model", .aliases = ALIASES("model-draft", "-md"), .kind = OPTION_TEXT, .group = GROUP_MODEL,
     .commands = COMMAND_ANSWERS, .value = "PATH", .offset = AT(draft_model), .unset = "none",
     .help = "smaller model of the same vocabulary that drafts; the answer's law stays the same"},
    {.name = "prompt-lookup", .kind = OPTION_SWITCH, .group = GROUP_MODEL, .commands = COMMAND_ANSWERS,
     .offset = AT(prompt_lookup), .help = "drafts from the text itself, for answers that repeat the prompt"},
    {.name = "draft-tokens", .aliases = ALIASES("draft-max", "draft-block-size"), .kind = OPTION_INTEGER,
     .group = GROUP_MODEL, .commands = COMMAND_ANSWERS, .value = "N", .offset = AT(draft_tokens), .min = 1, .max = 64,
     .unset = "4 of a model, 7 of the text", .help = "longest draft"},
    {.name = "draft", .kind = OPTION_CUSTOM, .group = GROUP_MODEL, .commands = COMMAND_ANSWERS, .value = "PATH|N",
     .set = option_set_draft, .help = "--draft-model with a path, --draft-tokens with a number"},
    {.name = "draft-kind", .kind = OPTION_CUSTOM, .group = GROUP_MODEL, .commands = COMMAND_ANSWERS, .value = "KIND",
     .set = option_set_draft_kind, .show = option_show_draft_kind, .help = "full-model or prompt-lookup"},
    {.name = "prompt-cache", .kind = OPTION_TEXT, .group = GROUP_MODEL, .commands = COMMAND_ANSWERS, .value = "FILE",
     .offset = AT(prompt_cache), .unset = "none",
     .help = "begin with the cache that the file holds, and keep it there at the end"},
    {.name = "kv", .kind = OPTION_CHOICE, .group = GROUP_MODEL, .commands = COMMAND_ANSWERS, .value = "TYPE",
     .offset = AT(kv), .choices = ALIASES("f16", "f32", "i8"), .help = "number type of the cache"},

    {.name = "prompt", .aliases = ALIASES("p"), .kind = OPTION_TEXT, .group = GROUP_PROMPT,
     .commands = COMMAND_ANSWERS, .value = "TEXT", .offset = AT(prompt), .unset = "standard input",
     .help = "the question; answered once, standard input is not read"},
    {.name = "file", .aliases = ALIASES("f"), .kind = OPTION_TEXT, .group = GROUP_PROMPT,
     .commands = COMMAND_ANSWERS, .value = "FILE", .offset = AT(file), .unset = "none",
     .help = "read the question from a file (one line end at its end is dropped)"},
    {.name = "system", .aliases = ALIASES("system-prompt", "-sys"), .kind = OPTION_TEXT, .group = GROUP_PROMPT,
     .commands = COMMAND_ANSWERS, .value = "TEXT", .offset = AT(system), .unset = "none",
     .help = "system message that precedes the conversation"},
    {.name = "chat-template", .aliases = ALIASES("format"), .kind = OPTION_TEXT, .group = GROUP_PROMPT,
     .commands = COMMAND_ANSWERS, .value = "NAME", .offset = AT(chat_template), .unset = "the model's own",
     .help = "chat format by name, or a template's source, or none for plain completion"},

    {.name = "max-tokens", .aliases = ALIASES("n", "n-predict", "predict"), .kind = OPTION_INTEGER,
     .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "N", .offset = AT(max_tokens), .min = 1,
     .max = INT32_MAX, .unlimited = true, .help = "longest answer; -1: until the context is full"},
    {.name = "ignore-eos", .kind = OPTION_SWITCH, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS,
     .offset = AT(ignore_eos), .help = "ban the tokens that end an answer"},
    {.name = "stop", .repeats = true, .aliases = ALIASES("reverse-prompt", "r"), .kind = OPTION_CUSTOM, .group = GROUP_ANSWER,
     .commands = COMMAND_ANSWERS, .value = "TEXT", .set = option_set_stop, .show = option_show_stop,
     .help = "end the answer in front of this text; \\n is a line end; repeatable"},
    {.name = "min-tokens", .kind = OPTION_INTEGER, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "N",
     .offset = AT(min_tokens), .min = 0, .max = INT32_MAX, .help = "no end token before there are so many"},
    {.name = "time-limit", .kind = OPTION_SECONDS, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "S",
     .offset = AT(time_limit), .max = 1000000000, .unset = "none", .help = "end the answer after so many seconds"},
    {.name = "loop-guard", .kind = OPTION_CUSTOM, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "P,N",
     .set = option_set_loop_guard, .show = option_show_loop_guard,
     .help = "end an answer whose last tokens are a pattern of at most P tokens, N times"},
    {.name = "ban", .repeats = true, .kind = OPTION_CUSTOM, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "TEXT",
     .set = option_set_ban, .show = option_show_ban,
     .help = "a phrase that must not occur: the answer goes back and on in another way; repeatable"},
    {.name = "ban-ignore-case", .kind = OPTION_SWITCH, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS,
     .offset = AT(ban_ignore_case), .help = "banned phrases in any case"},
    {.name = "context-shift", .kind = OPTION_SWITCH, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS,
     .offset = AT(context_shift), .help = "forget the oldest part when the context is full, but the system message"},
    {.name = "think-budget", .aliases = ALIASES("reasoning-budget"), .kind = OPTION_INTEGER,
     .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "N",
     .offset = AT(think_budget), .min = -1, .max = INT32_MAX,
     .help = "tokens of reasoning, after which the closing marker is forced; -1: no limit"},
    {.name = "think-open", .kind = OPTION_TEXT, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "TEXT",
     .offset = AT(think_open), .unset = "<think>", .help = "marker that opens reasoning; none splits nothing off"},
    {.name = "think-close", .kind = OPTION_TEXT, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS, .value = "TEXT",
     .offset = AT(think_close), .unset = "</think>", .help = "marker that closes it"},
    {.name = "hide-thinking", .kind = OPTION_SWITCH, .group = GROUP_ANSWER, .commands = COMMAND_ANSWERS,
     .offset = AT(hide_thinking), .help = "don't show the reasoning, which goes to standard error, dim"},

    {.name = "dialect", .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES,
     .value = "NAME", .set = option_set_dialect, .show = option_show_dialect,
     .help = "the engine whose rules and defaults hold"},
    {.name = "seed", .aliases = ALIASES("s"), .kind = OPTION_PARAM, .group = GROUP_SAMPLING,
     .commands = COMMAND_SAMPLES, .value = "N", .show = option_show_seed},
    {.name = "greedy", .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES,
     .set = option_set_greedy, .help = "always the likeliest token (temperature 0)"},
    {.name = "samplers", .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES,
     .value = "LIST", .set = option_set_samplers, .show = option_show_samplers,
     .help = "the stages in order, separated by ; or ,"},
    {.name = "sampling-seq", .aliases = ALIASES("sampler-seq"), .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING,
     .commands = COMMAND_SAMPLES, .value = "LETTERS", .set = option_set_letters,
     .help = "the same by llama.cpp's letters, as in kpmt"},
    {.name = "logit-bias", .repeats = true, .aliases = ALIASES("l"), .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING,
     .commands = COMMAND_SAMPLES, .value = "ID+B", .set = option_set_bias, .show = option_show_bias,
     .help = "add B to a token's logit (ID-B, ID-inf; \"text\"+B); repeatable"},
    {.name = "bias-file", .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING, .commands = COMMAND_ANSWERS,
     .value = "FILE", .set = option_set_bias_file, .show = option_show_bias_file,
     .help = "biases that hold where --logit-bias gives none: {\"id\": B}, or [[id, B]]; \"-inf\" bans"},
    {.name = "suppress", .repeats = true, .kind = OPTION_CUSTOM, .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES, .value = "IDS",
     .set = option_set_suppress, .show = option_show_suppress,
     .help = "token ids that are never drawn, separated by commas; repeatable"},
    {.name = "dry-sequence-breaker", .repeats = true, .aliases = ALIASES("dry-sequence-breakers"), .kind = OPTION_CUSTOM,
     .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES, .value = "TEXT", .set = option_set_breaker,
     .show = option_show_breakers,
     .help = "text that ends a repetition, in place of the dialect's; \\n is a line end, none clears; repeatable"},

    {.name = "json-object", .kind = OPTION_SWITCH, .group = GROUP_CONSTRAINT, .commands = COMMAND_ANSWERS,
     .offset = AT(json_object), .help = "the answer is a JSON object"},
    {.name = "json-schema", .aliases = ALIASES("j"), .kind = OPTION_TEXT, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_ANSWERS, .value = "FILE|TEXT", .offset = AT(json_schema), .unset = "none",
     .help = "the answer is JSON that is valid under this schema"},
    {.name = "json-schema-file", .aliases = ALIASES("-jf"), .kind = OPTION_TEXT, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_ANSWERS, .value = "FILE", .offset = AT(json_schema_file), .unset = "none",
     .help = "the same, always from a file"},
    {.name = "regex", .kind = OPTION_TEXT, .group = GROUP_CONSTRAINT, .commands = COMMAND_ANSWERS, .value = "REGEX",
     .offset = AT(regex), .unset = "none", .help = "the whole answer matches this regular expression (ECMAScript's)"},
    {.name = "grammar", .kind = OPTION_TEXT, .group = GROUP_CONSTRAINT, .commands = COMMAND_ANSWERS, .value = "TEXT",
     .offset = AT(grammar), .unset = "none", .help = "the answer follows this grammar (llama.cpp's GBNF)"},
    {.name = "grammar-file", .kind = OPTION_TEXT, .group = GROUP_CONSTRAINT, .commands = COMMAND_ANSWERS,
     .value = "FILE", .offset = AT(grammar_file), .unset = "none", .help = "the same from a file"},
    {.name = "choice", .repeats = true, .kind = OPTION_CUSTOM, .group = GROUP_CONSTRAINT, .commands = COMMAND_ANSWERS,
     .value = "TEXT", .set = option_set_choice, .show = option_show_choice,
     .help = "the answer is one of these texts, taken as it stands; repeatable"},
    {.name = "json-whitespace", .aliases = ALIASES("whitespace"), .kind = OPTION_CUSTOM, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .value = "N", .set = option_set_whitespace, .show = option_show_whitespace,
     .help = "white space between the tokens of JSON: at most N bytes a place, none, or any"},
    {.name = "json-order", .aliases = ALIASES("order"), .kind = OPTION_CHOICE, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .value = "ORDER", .offset = AT(json_order), .choices = ALIASES("any", "declared"),
     .help = "properties in any order, or in the schema's"},
    {.name = "json-spelling", .aliases = ALIASES("spelling"), .kind = OPTION_CHOICE, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .value = "HOW", .offset = AT(json_spelling), .choices = ALIASES("any", "plain"),
     .help = "JSON in every spelling, or without needless escapes, exponents and zeros"},
    {.name = "json-format", .aliases = ALIASES("format-mode"), .kind = OPTION_CHOICE, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .value = "MODE", .offset = AT(json_format), .choices = ALIASES("assert", "annotate"),
     .help = "whether a schema's format is enforced or says nothing"},
    {.name = "json-nullable", .aliases = ALIASES("nullable"), .kind = OPTION_SWITCH, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .offset = AT(json_nullable), .help = "nullable: true allows null, as in OpenAPI"},
    {.name = "json-lenient", .aliases = ALIASES("lenient"), .kind = OPTION_SWITCH, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_CONSTRAINS, .offset = AT(json_lenient),
     .help = "leave out what can't be enforced, and say what, instead of refusing the schema"},
    {.name = "instance", .aliases = ALIASES("i"), .repeats = true, .kind = OPTION_CUSTOM, .group = GROUP_CONSTRAINT,
     .commands = COMMAND_SCHEMA, .value = "FILE", .set = option_set_instance, .show = option_show_instance,
     .help = "a document to be checked; repeatable"},
    {.name = "ref", .repeats = true, .kind = OPTION_CUSTOM, .group = GROUP_CONSTRAINT, .commands = COMMAND_SCHEMA,
     .value = "URI=FILE", .set = option_set_ref, .show = option_show_ref,
     .help = "a schema that $ref may name; nothing is ever fetched; repeatable"},
    {.name = "batch", .kind = OPTION_SWITCH, .group = GROUP_CONSTRAINT, .commands = COMMAND_SCHEMA,
     .offset = AT(batch), .help = "read one JSON object a line, write one a line"},

    {.name = "batch", .kind = OPTION_SWITCH, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE,
     .offset = AT(batch), .help = "read one JSON object a line, write one a line"},
    {.name = "history", .kind = OPTION_TEXT, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE, .value = "IDS",
     .offset = AT(history), .unset = "empty", .help = "token ids that came before, separated by commas"},
    {.name = "mask", .kind = OPTION_TEXT, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE, .value = "IDS",
     .offset = AT(mask), .unset = "all", .help = "the only token ids that are allowed, separated by commas"},
    {.name = "row-format", .kind = OPTION_CHOICE, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE,
     .value = "TYPE", .offset = AT(row_format), .choices = ALIASES("auto", "json", "npy", "f32", "f16", "bf16"),
     .help = "what the file is: a JSON array, a .npy array, or bare numbers"},
    {.name = "trace", .kind = OPTION_SWITCH, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE,
     .offset = AT(trace), .help = "show what each stage did, and where the first draw fell"},
    {.name = "watch", .kind = OPTION_TEXT, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE, .value = "IDS",
     .offset = AT(watch), .unset = "the likeliest", .help = "the tokens that the trace follows beside the drawn one"},
    {.name = "draws", .kind = OPTION_INTEGER, .group = GROUP_SAMPLE, .commands = COMMAND_SAMPLE | COMMAND_SELFTEST,
     .value = "N", .offset = AT(draws), .min = 0, .max = 100000000, .help = "number of tokens to draw"},

    {.name = "case", .kind = OPTION_TEXT, .group = GROUP_BENCH, .commands = COMMAND_BENCH, .value = "NAME",
     .offset = AT(bench_case), .unset = "all", .help = "only this case"},
    {.name = "vocab", .kind = OPTION_INTEGER, .group = GROUP_BENCH, .commands = COMMAND_BENCH, .value = "N",
     .offset = AT(bench_vocab), .min = 1, .max = 1 << 24, .unset = "32000, 151936, 262144",
     .help = "only rows of this many tokens"},
    {.name = "runs", .kind = OPTION_INTEGER, .group = GROUP_BENCH, .commands = COMMAND_BENCH, .value = "N",
     .offset = AT(bench_runs), .min = 30, .max = 100000, .unset = "200 at most, by time",
     .help = "how often each case is measured"},

    {.name = "logprobs", .kind = OPTION_INTEGER, .group = GROUP_OUTPUT, .commands = COMMAND_ANSWERS, .value = "N",
     .offset = AT(logprobs), .min = 1, .max = 1000, .unset = "none",
     .help = "log-probabilities of each token and of the N likeliest, in --json, --trace and after the answer"},
    {.name = "logprobs-stage", .kind = OPTION_CHOICE, .group = GROUP_OUTPUT, .commands = COMMAND_ANSWERS,
     .value = "STAGE", .offset = AT(logprobs_stage), .choices = ALIASES("raw", "penalized", "final"),
     .help = "of the model's row, after penalties and biases, or of the draw"},
    {.name = "trace", .kind = OPTION_TEXT, .group = GROUP_OUTPUT, .commands = COMMAND_ANSWERS, .value = "FILE",
     .offset = AT(trace_file), .unset = "none",
     .help = "write one JSON object a token: id, text, probability, milliseconds; then one with the statistics"},
    {.name = "timings", .kind = OPTION_SWITCH, .group = GROUP_OUTPUT, .commands = COMMAND_ANSWERS,
     .offset = AT(timings), .help = "what a token's time went into: forward pass, sampling, text"},
    {.name = "stats", .kind = OPTION_CHOICE, .group = GROUP_OUTPUT, .commands = COMMAND_ANSWERS, .value = "FORM",
     .offset = AT(stats), .choices = ALIASES("text", "json"), .help = "the statistics on standard error"},
    {.name = "json", .kind = OPTION_SWITCH, .group = GROUP_OUTPUT, .commands = COMMAND_ALL & ~COMMAND_CHAT,
     .offset = AT(json), .help = "machine-readable output"},
    {.name = "preset", .kind = OPTION_TEXT, .group = GROUP_OUTPUT, .commands = COMMAND_SAMPLES, .value = "NAME",
     .offset = AT(preset), .unset = "none", .help = "options of this name in ~/.config/tombola/config.json"},
    {.name = "print-config", .kind = OPTION_SWITCH, .group = GROUP_OUTPUT, .commands = COMMAND_SAMPLES,
     .offset = AT(print_config), .help = "show every value with its origin, and do nothing else"},
    {.name = "color", .kind = OPTION_CHOICE, .group = GROUP_OUTPUT, .commands = COMMAND_ALL, .value = "WHEN",
     .offset = AT(color), .choices = ALIASES("auto", "always", "never"), .help = "colour on standard error"},
    {.name = "quiet", .kind = OPTION_SWITCH, .group = GROUP_OUTPUT, .commands = COMMAND_ALL, .offset = AT(quiet),
     .help = "nothing on standard error but errors"},
    {.name = "verbose", .kind = OPTION_SWITCH, .group = GROUP_OUTPUT, .commands = COMMAND_ALL,
     .offset = AT(verbose), .help = "say more: the chain of stages, the chat format"},
    {.name = "help", .aliases = ALIASES("h"), .kind = OPTION_SWITCH, .group = GROUP_OUTPUT,
     .commands = COMMAND_ALL, .offset = AT(help), .help = "this text"},
};

enum { TABLE_COUNT = sizeof(table) / sizeof(table[0]) };

/* Options of the plan, so that asking for one gets a better answer than "unknown". An option that is made leaves this
 * list; a name that ends in '*' stands for all that begin so. */
static const char *const planned[] = {
    "draw", "typical-p", "typical", "top-n-sigma", "top-nsigma", "p-less", "xtc-*", "epsilon-cutoff", "eta-cutoff",
    "top-h", "top-a", "tfs", "smoothing-factor", "dynatemp-*", "no-repeat-ngram", "dry-*", "mirostat", "mirostat-*",
    "adaptive-*", "host", "port", "parallel", "np",
    "alias", "api-key"};

void option_spell(char *spelled, size_t size, const char *name) {
  snprintf(spelled, size, "%s%s", name[0] == '-' ? "" : name[1] ? "--" : "-", name);
  for (char *at = spelled; *at; at++)
    if (*at == '_') *at = '-';
}

/* Equal, where '_' and '-' are the same. */
static bool same_name(const char *known, const char *name, size_t length) {
  if (strlen(known) != length) return false;
  for (size_t i = 0; i < length; i++) {
    char a = known[i] == '_' ? '-' : known[i];
    char b = name[i] == '_' ? '-' : name[i];
    if (a != b) return false;
  }
  return true;
}

static bool in_table(const char *name) {
  for (size_t i = 0; i < TABLE_COUNT; i++)
    if (same_name(table[i].name, name, strlen(name))) return true;
  return false;
}

/* What the help shows for a parameter's value; NULL for none. False for a type that text can't set: such a parameter
 * needs a row in the table. */
static bool find_placeholder(enum tombola_param_type type, const char **placeholder) {
  static const struct {
    enum tombola_param_type type;
    const char *text;
  } placeholders[] = {{TOMBOLA_PARAM_FLOAT, "X"},
                      {TOMBOLA_PARAM_INT, "N"},
                      {TOMBOLA_PARAM_SEED, "N"},
                      {TOMBOLA_PARAM_CHOICE, "NAME"},
                      {TOMBOLA_PARAM_BOOL, NULL}};
  for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++)
    if (placeholders[i].type == type) {
      *placeholder = placeholders[i].text;
      return true;
    }
  return false;
}

/* The option of a parameter of the sampler; false for one that has a row in the table or can't be set from text. */
static bool from_param(const struct tombola_param_info *param, struct option *option) {
  const char *placeholder;
  if (!find_placeholder(param->type, &placeholder) || in_table(param->name)) return false;
  *option = (struct option){.name = param->name, .aliases = param->aliases, .kind = OPTION_PARAM,
                            .group = GROUP_SAMPLING, .commands = COMMAND_SAMPLES, .value = placeholder,
                            .help = param->help, .param = param};
  return true;
}

enum { ANSWERS_MAX = 64, ANSWER_ALIASES = 4 };

/* The names of --answer-*, which the options point to. */
struct answer_names {
  char names[ANSWER_ALIASES + 1][48];
  const char *aliases[ANSWER_ALIASES + 1]; /* NULL-terminated */
};

/* The option of the same parameter for the answer alone. A seed there is once. */
static bool from_param_of_answer(const struct tombola_param_info *param, struct answer_names *names,
                                 struct option *option) {
  size_t count = 0;
  if (param->type == TOMBOLA_PARAM_SEED || !from_param(param, option)) return false;
  snprintf(names->names[ANSWER_ALIASES], sizeof(names->names[0]), "answer-%s", param->name);
  for (; param->aliases && param->aliases[count] && count < ANSWER_ALIASES; count++) {
    snprintf(names->names[count], sizeof(names->names[0]), "answer-%s", param->aliases[count]);
    names->aliases[count] = names->names[count];
  }
  names->aliases[count] = NULL;
  option->name = names->names[ANSWER_ALIASES];
  option->aliases = names->aliases;
  option->kind = OPTION_ANSWER;
  option->commands = COMMAND_ANSWERS;
  return true;
}

/* All options, made once. */
static const struct option *all_options(size_t *count) {
  static struct option all[TABLE_COUNT + 2 * ANSWERS_MAX];
  static struct answer_names names[ANSWERS_MAX];
  static size_t made;
  size_t n = 0, params = tombola_param_count() < ANSWERS_MAX ? tombola_param_count() : ANSWERS_MAX;
  *count = made;
  if (made) return all;
  for (; n < TABLE_COUNT; n++) {
    all[n] = table[n];
    if (all[n].kind != OPTION_PARAM) continue;
    all[n].param = tombola_param_find(all[n].name);
    if (!all[n].help && all[n].param) all[n].help = all[n].param->help;
  }
  for (size_t i = 0; i < params; i++)
    if (from_param(tombola_param_at(i), &all[n])) n++;
  for (size_t i = 0; i < params; i++)
    if (from_param_of_answer(tombola_param_at(i), &names[i], &all[n])) n++;
  made = *count = n;
  return all;
}

bool option_at(size_t index, struct option *option) {
  size_t count;
  const struct option *all = all_options(&count);
  if (index >= count) return false;
  *option = all[index];
  return true;
}

bool option_takes_value(const struct option *option) { return option->value != NULL; }

bool option_is_named(const struct option *option, const char *name, size_t length) {
  if (same_name(option->name, name, length)) return true;
  for (const char *const *alias = option->aliases; alias && *alias; alias++)
    if (same_name(*alias, name, length)) return true;
  return false;
}

size_t option_find(const char *name, size_t length, int dashes, unsigned command_bits) {
  struct option option;
  size_t found = SIZE_MAX;
  if (dashes == 1 && length != 1) { /* an alias with a dash of its own */
    name--;
    length++;
  } else if ((length == 1) != (dashes == 1)) {
    return SIZE_MAX;
  }
  for (size_t i = 0; option_at(i, &option); i++) {
    if (!option_is_named(&option, name, length)) continue;
    if (option.commands & command_bits) return i;
    if (found == SIZE_MAX) found = i;
  }
  return found;
}

bool option_is_planned(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]); i++) {
    size_t known = strlen(planned[i]);
    if (planned[i][known - 1] == '*' && length >= known) {
      if (strncmp(planned[i], name, known - 1) == 0) return true;
    } else if (same_name(planned[i], name, length)) {
      return true;
    }
  }
  return false;
}
