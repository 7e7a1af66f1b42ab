/* SPDX-License-Identifier: Apache-2.0 */
/* From arguments to values. The arguments are first collected as assignments, then applied from the weakest
 * source to the strongest, so that their order on the command line does not matter where it should not: a
 * dialect's defaults never overwrite a flag that stands before it. */
#include "options_sources.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/constraint.h>
#include <tombola/session.h>

/* ---- a hint for typing errors ---- */

enum { NAME_MAX_LENGTH = 40 };

/* Number of letters to insert, delete, change or swap with the neighbour to get from one name to the other.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][NAME_MAX_LENGTH + 1];
  if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH) return SIZE_MAX;
  for (size_t j = 0; j <= b_length; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && twice[j - 2] + 1 < best)
        best = twice[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[a_length % 3][b_length];
}

/* The nearest name among the options of a command, spelled; false when none is near. */
static bool nearest(unsigned command, const char *name, size_t length, char *spelled, size_t size) {
  struct option option;
  size_t best = length / 4 + 2;
  bool found = false;
  for (size_t i = 0; option_at(i, &option); i++) {
    const char *const none = NULL;
    const char *const *alias = option.aliases ? option.aliases : &none;
    if (!(option.commands & command)) continue;
    for (const char *known = option.name; known; known = *alias++) {
      char flag[64];
      size_t far;
      option_spell(flag, sizeof(flag), known);
      far = flag[1] == '-' ? distance(name, length, flag + 2, strlen(flag + 2)) : SIZE_MAX;
      if (far >= best) continue;
      best = far;
      found = true;
      snprintf(spelled, size, "%s", flag);
    }
  }
  return found;
}

static int complain_unknown(const struct command *command, const char *argument, const char *name,
                            size_t length) {
  char near[64];
  int shown = (int)(name - argument) + (int)length;
  if (option_is_planned(name, length)) return complain_usage("%.*s is not supported yet", shown, argument);
  if (length > 1 && nearest(command->bit, name, length, near, sizeof(near)))
    return complain_usage("unknown option %.*s; did you mean %s?", shown, argument, near);
  return complain_usage("unknown option %.*s; see tombola %s --help", shown, argument, command->name);
}

/* ---- collecting ---- */

/* Reads one argument that begins with '-', and the next one when it is its value. Returns the number of
 * arguments that were used, 0 after a complaint. */
static int collect_flag(struct assignments *assignments, const struct command *command, int argc, char **argv,
                        int *exit_status) {
  const char *argument = argv[0];
  int dashes = argument[1] == '-' ? 2 : 1;
  const char *name = argument + dashes;
  size_t length = strcspn(name, "=");
  struct assignment assignment = {.given = argument, .origin = ORIGIN_FLAG};
  int used = 1;

  *exit_status = EXIT_USAGE;
  assignment.index = option_find(name, length, dashes, command->bit);
  if (assignment.index == SIZE_MAX || !option_at(assignment.index, &assignment.option)) {
    used = foreign_take(command, argc, argv, exit_status);
    if (used >= 0) return used;
    complain_unknown(command, argument, name, length);
    return 0;
  }
  if (!(assignment.option.commands & command->bit)) {
    complain_usage("%.*s is not an option of tombola %s", (int)length + dashes, argument, command->name);
    return 0;
  }
  if (name[length] == '=') assignment.text = name + length + 1;
  if (assignment.text && !option_takes_value(&assignment.option) && assignment.option.kind != OPTION_PARAM &&
      assignment.option.kind != OPTION_ANSWER) {
    complain_usage("%.*s takes no value", (int)length + dashes, argument);
    return 0;
  }
  if (!assignment.text && option_takes_value(&assignment.option)) {
    if (argc < 2) {
      complain_usage("%s needs a value (%s)", argument, assignment.option.value);
      return 0;
    }
    assignment.text = argv[1];
    used = 2;
  }
  if (!assignments_add(assignments, &assignment)) {
    *exit_status = complain("out of memory");
    return 0;
  }
  return used;
}

/* The arguments. What is no flag is moved to the front of argv, where the operands stay. */
static int collect_arguments(struct assignments *assignments, struct options *options, int argc,
                             char **argv) {
  const struct command *command = options->command;
  bool flags = true;
  int operands = 0;
  for (int i = 0; i < argc;) {
    int status;
    int used = 1;
    if (flags && strcmp(argv[i], "--") == 0)
      flags = false;
    else if (flags && argv[i][0] == '-' && argv[i][1])
      used = collect_flag(assignments, command, argc - i, argv + i, &status);
    else if (command->operands)
      argv[operands++] = argv[i];
    else if (command->bit & COMMAND_ANSWERS)
      return complain_usage("\"%s\" is not expected; did you mean -p \"%s\"?", argv[i], argv[i]);
    else
      return complain_usage(
          "\"%s\" is not expected: tombola %s takes its values by flags, see tombola %s --help", argv[i],
          command->name, command->name);
    if (!used) return status;
    i += used;
  }
  options->operands = (const char *const *)argv;
  options->n_operands = (size_t)operands;
  return EXIT_OK;
}

/* ---- applying ---- */

/* The option as its source spells it; a flag by its canonical name. */
static const char *spelled(const struct assignment *assignment, char *name, size_t size) {
  if (assignment->origin == ORIGIN_FLAG)
    option_spell(name, size, assignment->option.name);
  else
    snprintf(name, size, "%s", assignment->given);
  return name;
}

static int apply_integer(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char *end, name[192];
  long long value;
  errno = 0;
  value = strtoll(assignment->text, &end, 10);
  bool allowed = (value >= option->min && value <= option->max) || (option->unlimited && value == -1);
  if (end == assignment->text || *end || errno || !allowed)
    return complain_usage("%s: \"%s\" is not allowed (a whole number from %lld to %lld%s)",
                          spelled(assignment, name, sizeof(name)), assignment->text, (long long)option->min,
                          (long long)option->max, option->unlimited ? ", or -1 for no limit" : "");
  *(int64_t *)(void *)((char *)options + option->offset) = value;
  return EXIT_OK;
}

static int apply_seconds(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char *end, name[192];
  double value = strtod(assignment->text, &end);
  if (end == assignment->text || *end || !(value > 0) || !(value <= (double)option->max))
    return complain_usage("%s: \"%s\" is not allowed (seconds, above 0 and at most %lld)",
                          spelled(assignment, name, sizeof(name)), assignment->text, (long long)option->max);
  *(double *)(void *)((char *)options + option->offset) = value;
  return EXIT_OK;
}

/* llama-cli has --color on and off. */
static const char *choice_meant(const struct option *option, const char *text) {
  if (strcmp(option->name, "color") != 0) return text;
  return strcmp(text, "on") == 0 ? "always" : strcmp(text, "off") == 0 ? "never" : text;
}

static int apply_choice(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  const char *meant = choice_meant(option, assignment->text);
  char known[128] = "", name[192];
  for (int i = 0; option->choices[i]; i++) {
    size_t length = strlen(known);
    if (strcmp(option->choices[i], meant) == 0) {
      *(int *)(void *)((char *)options + option->offset) = i;
      return EXIT_OK;
    }
    snprintf(known + length, sizeof(known) - length, "%s%s", i ? ", " : "", option->choices[i]);
  }
  return complain_usage("%s: \"%s\" is not allowed (one of %s)", spelled(assignment, name, sizeof(name)),
                        assignment->text, known);
}

/* The message without the parameter's name in front, where the option is called by that name. */
static const char *without_name(const struct tombola_error *error, const char *given) {
  const size_t length = strlen(error->param);
  given += strspn(given, "-");
  if (!length || strcspn(given, "=") != length || strncmp(error->message, error->param, length) != 0)
    return error->message;
  for (size_t i = 0; i < length; i++)
    if ((given[i] == '-' ? '_' : given[i]) != error->param[i]) return error->message;
  return strncmp(error->message + length, ": ", 2) == 0 ? error->message + length + 2 : error->message;
}

/* A value that the library checks; its message names the parameter, the value and the range. */
static int apply_checked(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  struct tombola_error error = {0};
  enum tombola_status status;
  if (option->kind == OPTION_PARAM) /* a parameter that is on or off may be named alone, or with =false */
    status = tombola_sampler_params_set(&options->sampler, option->name,
                                        assignment->text ? assignment->text : "true", &error);
  else if (option->kind == OPTION_ANSWER)
    status = tombola_sampler_params_set(&options->answer_sampler, option->param->name,
                                        assignment->text ? assignment->text : "true", &error);
  else
    status = option->set(options, assignment->text, &error);
  if (status == TOMBOLA_OK) return EXIT_OK;
  if (status == TOMBOLA_NO_MEMORY) return complain_error(status, &error);
  if (assignment->origin == ORIGIN_MODEL) { /* nobody here asked for it */
    note("%s: left out: %s", assignment->given, error.message);
    return EXIT_OK;
  }
  if (assignment->origin == ORIGIN_FLAG && *assignment->given != '-') /* /set: the message names it well enough */
    return complain_usage("%s", error.message);
  return complain_usage("%.*s: %s", (int)strcspn(assignment->given, "="), assignment->given,
                        without_name(&error, assignment->given));
}

static int apply(struct options *options, const struct assignment *assignment) {
  char *member = (char *)options + assignment->option.offset;
  switch (assignment->option.kind) {
  case OPTION_SWITCH: *(bool *)(void *)member = true; return EXIT_OK;
  case OPTION_TEXT: *(const char **)(void *)member = assignment->text; return EXIT_OK;
  case OPTION_INTEGER: return apply_integer(options, assignment);
  case OPTION_SECONDS: return apply_seconds(options, assignment);
  case OPTION_CHOICE: return apply_choice(options, assignment);
  case OPTION_PARAM:
  case OPTION_ANSWER:
  case OPTION_CUSTOM: break;
  }
  return apply_checked(options, assignment);
}

/* Marks the option, and where it writes another option's value, that one as well. */
static void mark_origin(struct options *options, const struct assignment *assignment) {
  bool number = assignment->text && option_draft_is_number(assignment->text);
  const struct {
    const char *writer, *written;
  } pairs[] = {{"greedy", "temperature"},
               {"sampling-seq", "samplers"},
               {"draft", number ? "draft-tokens" : "draft-model"}};
  options->origins[assignment->index] = (unsigned char)assignment->origin;
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
    if (strcmp(assignment->option.name, pairs[i].writer) != 0) continue;
    options->origins[option_find(pairs[i].written, strlen(pairs[i].written), 2, options->command->bit)] =
        (unsigned char)assignment->origin;
  }
}

/* The dialect comes first, because its defaults are what the others change; the last one that
 * the strongest source gives holds. */
static int apply_dialect(struct options *options, const struct assignments *assignments) {
  struct tombola_error error = {0};
  enum tombola_status status;
  for (int origin = ORIGIN_COUNT; origin-- > 0;)
    for (size_t i = assignments->count; i-- > 0;)
      if ((int)assignments->list[i].origin == origin && assignments->list[i].option.set == option_set_dialect)
        return apply(options, &assignments->list[i]);
  status = option_set_dialect(options, NULL, &error);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name) != 0)
    names++;
  return *names != NULL;
}

/* Options of which one takes the place of the other. */
static bool are_rivals(const struct option *a, const struct option *b) {
  static const char *const groups[][8] = {
      {"prompt", "file"},
      {"draft-model", "prompt-lookup"},
      {"json-object", "json-schema", "json-schema-file", "regex", "grammar", "grammar-file", "choice"}};
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
    if (is_one_of(a->name, groups[i]) && is_one_of(b->name, groups[i])) return strcmp(a->name, b->name) != 0;
  return false;
}

/* Whether a stronger source says something else. */
static bool is_overruled(const struct assignments *assignments, size_t index) {
  const struct assignment *assignment = &assignments->list[index];
  for (size_t i = 0; i < assignments->count; i++) {
    const struct assignment *other = &assignments->list[i];
    if (other->origin > assignment->origin &&
        (other->index == assignment->index || are_rivals(&other->option, &assignment->option)))
      return true;
  }
  return false;
}

/* Applies what one source gives, either to the answer's sampler or to everything else. */
static int apply_origin(struct options *options, const struct assignments *assignments, enum option_origin origin,
                        bool answer) {
  int exit_status = EXIT_OK;
  for (size_t i = 0; i < assignments->count && exit_status == EXIT_OK; i++) {
    const struct assignment *assignment = &assignments->list[i];
    if (assignment->origin != origin || (assignment->option.kind == OPTION_ANSWER) != answer) continue;
    if (is_overruled(assignments, i)) continue;
    if (assignment->option.set != option_set_dialect) exit_status = apply(options, assignment);
    mark_origin(options, assignment);
    if (answer) options->has_answer_sampler = true;
  }
  return exit_status;
}

/* The answer's sampler is the other one with changes, so it comes last. */
static int apply_all(struct options *options, const struct assignments *assignments) {
  int exit_status = apply_dialect(options, assignments);
  for (int origin = 0; origin < ORIGIN_COUNT && exit_status == EXIT_OK; origin++)
    exit_status = apply_origin(options, assignments, (enum option_origin)origin, false);
  options->answer_sampler = options->sampler;
  for (int origin = 0; origin < ORIGIN_COUNT && exit_status == EXIT_OK; origin++)
    exit_status = apply_origin(options, assignments, (enum option_origin)origin, true);
  return exit_status;
}

/* ---- the whole ---- */

static bool set_defaults(struct options *options, const struct command *command) {
  struct option option;
  size_t count = 0;
  while (option_at(count, &option))
    count++;
  *options = (struct options){.command = command,
                              .max_tokens = 512,
                              .think_budget = -1,
                              .json_whitespace = 64,
                              .json_spelling = command->bit & COMMAND_ANSWERS ? TOMBOLA_SPELLING_PLAIN
                                                                              : TOMBOLA_SPELLING_ANY,
                              .think_open = "<think>",
                              .think_close = "</think>",
                              .draws = command->bit == COMMAND_SELFTEST ? 30000 : 1};
  options->origins = calloc(count, sizeof(*options->origins));
  if (!options->origins) return false;
  for (size_t i = 0; option_at(i, &option); i++)
    if (option.kind == OPTION_PARAM || option.show == option_show_samplers ||
        option.show == option_show_breakers)
      options->origins[i] = ORIGIN_DIALECT;
  return true;
}

/* Values that are right by themselves and don't go together. */
static int check_together(const struct options *options) {
  bool splits = strcmp(options->think_open, "none") != 0 && strcmp(options->think_close, "none") != 0;
  if (options->model && !*options->model) return complain_usage("--model needs a file name");
  if (options->draft_model && !*options->draft_model) return complain_usage("--draft-model needs a file name");
  if (options->prompt && options->file)
    return complain_usage("give the prompt by --prompt or by --file, not by both");
  if (!*options->think_open || !*options->think_close)
    return complain_usage("--think-open and --think-close: an empty marker is not allowed (none splits nothing off)");
  if (splits && strcmp(options->think_open, options->think_close) == 0)
    return complain_usage("--think-open and --think-close: both are \"%s\"; they must differ", options->think_open);
  if (!splits && options->think_budget >= 0)
    return complain_usage("--think-budget needs the markers; --think-open and --think-close can't be none");
  if (options->draft_model && options->prompt_lookup)
    return complain_usage("drafts come from --draft-model or from --prompt-lookup, not from both");
  if (options->draft_kind == TOMBOLA_SPECULATION_PROMPT_LOOKUP && options->draft_model)
    return complain_usage("--draft-kind prompt-lookup takes no --draft-model");
  if (options->draft_kind == TOMBOLA_SPECULATION_DRAFT_MODEL && !options->draft_model)
    return complain_usage("--draft-kind full-model needs --draft-model");
  if (options->draft_tokens && !options->draft_model && !options->prompt_lookup && !options->draft_kind)
    return complain_usage("--draft-tokens needs --draft-model or --prompt-lookup");
  if (options->ban_ignore_case && !options->n_bans) return complain_usage("--ban-ignore-case needs --ban");
  return EXIT_OK;
}

/* The sources beside the arguments. A preset may name the model. */
static int collect_others(struct assignments *assignments, struct options *options) {
  struct assignments environment = {NULL, 0};
  const char *preset = assignments_text(assignments, "preset");
  const char *model;
  int exit_status = collect_environment(&environment, options);
  bool good = true;
  if (!preset) preset = assignments_text(&environment, "preset");
  if (exit_status == EXIT_OK && preset && (options->command->bit & COMMAND_SAMPLES))
    exit_status = collect_preset(&environment, options, preset);
  model = assignments_text(assignments, "model");
  for (size_t i = 0; i < environment.count && good; i++) {
    bool names_model = strcmp(environment.list[i].option.name, "model") == 0;
    if (names_model && !model) model = environment.list[i].text;
    good = assignments_add(assignments, &environment.list[i]);
  }
  free(environment.list);
  if (!good) return complain("out of memory");
  if (exit_status == EXIT_OK && (options->command->bit & COMMAND_ANSWERS))
    exit_status = collect_recommended(assignments, options, model);
  return exit_status;
}

int options_parse(struct options *options, const struct command *command, int argc, char **argv) {
  struct assignments assignments = {NULL, 0};
  struct tombola_error error = {0};
  enum tombola_status status;
  int exit_status;
  if (!set_defaults(options, command)) return complain("out of memory");
  exit_status = collect_arguments(&assignments, options, argc, argv);
  if (exit_status == EXIT_OK && argv) exit_status = collect_others(&assignments, options);
  if (exit_status == EXIT_OK) exit_status = apply_all(options, &assignments);
  free(assignments.list);
  if (exit_status != EXIT_OK) return exit_status;
  exit_status = check_together(options);
  if (exit_status != EXIT_OK) return exit_status;
  status = tombola_sampler_params_check(&options->sampler, &error);
  if (status == TOMBOLA_OK) status = tombola_sampler_params_check(&options->answer_sampler, &error);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

/* ---- later changes ---- */

bool option_is_changeable(const struct option *option) {
  static const char *const others[] = {"timings", "stats", "logprobs", "logprobs-stage", "greedy", NULL};
  if (option->kind == OPTION_PARAM || option->kind == OPTION_ANSWER || option->group == GROUP_ANSWER) return true;
  for (const char *const *name = others; *name; name++)
    if (strcmp(option->name, *name) == 0) return true;
  return false;
}

/* A parameter of the sampler holds for the answer as well, unless that has its own. */
static int change_parameter(struct options *options, const struct assignment *assignment) {
  struct tombola_sampler_params before = options->sampler, answer = options->answer_sampler;
  const struct option *option = &assignment->option;
  struct tombola_error error = {0};
  enum tombola_status status;
  char name[96];
  size_t own;
  int exit_status;
  if (option->kind == OPTION_ANSWER && !options->has_answer_sampler) options->answer_sampler = options->sampler;
  exit_status = apply(options, assignment);
  if (exit_status != EXIT_OK) return exit_status;
  snprintf(name, sizeof(name), "answer-%s", option->kind == OPTION_PARAM ? option->name : "temperature");
  own = option_find(name, strlen(name), 2, options->command->bit);
  if (option->kind != OPTION_ANSWER && (own == SIZE_MAX || options->origins[own] == ORIGIN_DEFAULT))
    tombola_sampler_params_set(&options->answer_sampler, option->kind == OPTION_PARAM ? option->name : "temperature",
                               assignment->text ? assignment->text : "0", &error);
  status = tombola_sampler_params_check(&options->sampler, &error);
  if (status == TOMBOLA_OK) status = tombola_sampler_params_check(&options->answer_sampler, &error);
  if (status == TOMBOLA_OK) {
    options->has_answer_sampler = options->has_answer_sampler || option->kind == OPTION_ANSWER;
    return EXIT_OK;
  }
  options->sampler = before;
  options->answer_sampler = answer;
  return complain_error(status, &error);
}

/* The lists that options_set() replaces. */
static int change_list(struct options *options, const struct assignment *assignment) {
  bool stops = assignment->option.set == option_set_stop;
  struct tombola_bytes **list = stops ? &options->stops : &options->bans;
  size_t *count = stops ? &options->n_stops : &options->n_bans;
  struct options old = {0};
  int exit_status = EXIT_OK;
  old.stops = *list;
  old.n_stops = *count;
  *list = NULL;
  *count = 0;
  if (strcmp(assignment->text, "none") != 0) exit_status = apply(options, assignment);
  if (exit_status != EXIT_OK) {
    free(*list);
    *list = old.stops;
    *count = old.n_stops;
    return exit_status;
  }
  options_free_answer(&old);
  return EXIT_OK;
}

static int change(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char *member = (char *)options + option->offset;
  bool truth;
  if (option->repeats) return change_list(options, assignment);
  if (option->kind == OPTION_PARAM || option->kind == OPTION_ANSWER || option->set == option_set_greedy)
    return change_parameter(options, assignment);
  if (option->kind != OPTION_SWITCH) return apply(options, assignment);
  if (!option_truth(assignment->text, &truth))
    return complain_usage("%s: \"%s\" is not allowed (true or false)", option->name, assignment->text);
  *(bool *)(void *)member = truth;
  return EXIT_OK;
}

int options_set(struct options *options, const char *name, const char *text) {
  struct assignment assignment = {.given = name, .origin = ORIGIN_FLAG};
  const char *think[2] = {options->think_open, options->think_close};
  int64_t budget = options->think_budget;
  bool ignores = options->ban_ignore_case, truth;
  int exit_status;
  assignment.index = option_find(name, strlen(name), name[1] ? 2 : 1, options->command->bit);
  if (assignment.index == SIZE_MAX || !option_at(assignment.index, &assignment.option))
    return complain_usage("there is no option %.60s; /show lists them", name);
  if (strcmp(assignment.option.name, "system") == 0)
    return complain_usage("%.60s can't be changed here; /system TEXT sets the system message", name);
  if (!option_is_changeable(&assignment.option) || !(assignment.option.commands & options->command->bit))
    return complain_usage("%.60s can't be changed here; give it on the command line", name);
  assignment.text = text;
  if (assignment.option.set == option_set_greedy) {
    if (!option_truth(text, &truth) || !truth)
      return complain_usage("greedy: \"%.60s\" is not allowed (true; /set temperature X draws again)", text);
    assignment.text = NULL;
  } else { /* the text outlives the line that it comes from */
    assignment.text = options_own(options, strdup(text));
    if (!assignment.text) return complain("out of memory");
  }
  exit_status = change(options, &assignment);
  if (exit_status == EXIT_OK) exit_status = check_together(options);
  if (exit_status == EXIT_OK) {
    mark_origin(options, &assignment);
    return EXIT_OK;
  }
  options->think_open = think[0];
  options->think_close = think[1];
  options->think_budget = budget;
  options->ban_ignore_case = ignores;
  return exit_status;
}

void options_free(struct options *options) {
  for (size_t i = 0; i < options->n_text_bias; i++)
    free(options->text_bias[i].text);
  for (size_t i = 0; options->breakers && i < options->sampler.n_dry_sequence_breakers; i++)
    free(options->breakers[i]);
  options_free_answer(options);
  for (size_t i = 0; i < options->n_owned; i++)
    free(options->owned[i]);
  free(options->owned);
  free(options->breakers);
  free(options->suppress);
  free(options->text_bias);
  free(options->logit_bias);
  free(options->bias_file);
  free(options->samplers);
  free(options->origins);
  *options = (struct options){0};
}
