/* SPDX-License-Identifier: Apache-2.0 */
/* From arguments to values. The arguments are first collected as assignments, then applied from the weakest
 * source to the strongest, so that their order on the command line does not matter where it should not: a
 * dialect's defaults never overwrite a flag that stands before it. */
#include "options.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/session.h>

/* One value that a source gives to an option. */
struct assignment {
  struct option option;
  size_t index;      /* of the option */
  const char *text;  /* the value, NULL for an option without one */
  const char *given; /* how the source spells the option, for messages */
  enum option_origin origin;
};

struct assignments {
  struct assignment *list;
  size_t count;
};

/* ---- a hint for typing errors
 * ------------------------------------------------------------------------------------ */

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

/* ---- collecting
 * -------------------------------------------------------------------------------------------------- */

static bool collect(struct assignments *assignments, const struct assignment *assignment) {
  struct assignment *list = realloc(assignments->list, (assignments->count + 1) * sizeof(*list));
  if (!list) return false;
  assignments->list = list;
  list[assignments->count++] = *assignment;
  return true;
}

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
    complain_unknown(command, argument, name, length);
    return 0;
  }
  if (!(assignment.option.commands & command->bit)) {
    complain_usage("%.*s is not an option of tombola %s", (int)length + dashes, argument, command->name);
    return 0;
  }
  if (name[length] == '=') assignment.text = name + length + 1;
  if (assignment.text && !option_takes_value(&assignment.option) && assignment.option.kind != OPTION_PARAM) {
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
  if (!collect(assignments, &assignment)) {
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

/* ---- applying
 * ---------------------------------------------------------------------------------------------------- */

static int apply_integer(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char *end;
  long long value;
  errno = 0;
  value = strtoll(assignment->text, &end, 10);
  if (end == assignment->text || *end || errno || value < option->min || value > option->max)
    return complain_usage("--%s: \"%s\" is not allowed (a whole number from %lld to %lld)", option->name,
                          assignment->text, (long long)option->min, (long long)option->max);
  *(int64_t *)(void *)((char *)options + option->offset) = value;
  return EXIT_OK;
}

static int apply_seconds(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char *end;
  double value = strtod(assignment->text, &end);
  if (end == assignment->text || *end || !(value > 0) || !(value <= (double)option->max))
    return complain_usage("--%s: \"%s\" is not allowed (seconds, above 0 and at most %lld)", option->name,
                          assignment->text, (long long)option->max);
  *(double *)(void *)((char *)options + option->offset) = value;
  return EXIT_OK;
}

static int apply_choice(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  char known[128] = "";
  for (int i = 0; option->choices[i]; i++) {
    size_t length = strlen(known);
    if (strcmp(option->choices[i], assignment->text) == 0) {
      *(int *)(void *)((char *)options + option->offset) = i;
      return EXIT_OK;
    }
    snprintf(known + length, sizeof(known) - length, "%s%s", i ? ", " : "", option->choices[i]);
  }
  return complain_usage("--%s: \"%s\" is not allowed (one of %s)", option->name, assignment->text, known);
}

/* A value that the library checks; its message names the parameter, the value and the range. */
static int apply_checked(struct options *options, const struct assignment *assignment) {
  const struct option *option = &assignment->option;
  struct tombola_error error = {0};
  enum tombola_status status;
  if (option->kind == OPTION_PARAM) /* a parameter that is on or off may be named alone, or with =false */
    status = tombola_sampler_params_set(&options->sampler, option->name,
                                        assignment->text ? assignment->text : "true", &error);
  else
    status = option->set(options, assignment->text, &error);
  if (status == TOMBOLA_OK) return EXIT_OK;
  if (status == TOMBOLA_NO_MEMORY) return complain_error(status, &error);
  return complain_usage("%.*s: %s", (int)strcspn(assignment->given, "="), assignment->given, error.message);
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

/* The dialect comes first, because its defaults are what the others change; the last one that is given holds.
 */
static int apply_dialect(struct options *options, const struct assignments *assignments) {
  struct tombola_error error = {0};
  enum tombola_status status;
  for (size_t i = assignments->count; i-- > 0;)
    if (assignments->list[i].option.set == option_set_dialect) return apply(options, &assignments->list[i]);
  status = option_set_dialect(options, NULL, &error);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

static int apply_all(struct options *options, const struct assignments *assignments) {
  int exit_status = apply_dialect(options, assignments);
  for (size_t i = 0; i < assignments->count && exit_status == EXIT_OK; i++) {
    const struct assignment *assignment = &assignments->list[i];
    if (assignment->option.set != option_set_dialect) exit_status = apply(options, assignment);
    mark_origin(options, assignment);
  }
  return exit_status;
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------------- */

static bool set_defaults(struct options *options, const struct command *command) {
  struct option option;
  size_t count = 0;
  while (option_at(count, &option))
    count++;
  *options = (struct options){.command = command,
                              .max_tokens = 512,
                              .think_budget = -1,
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

int options_parse(struct options *options, const struct command *command, int argc, char **argv) {
  struct assignments assignments = {NULL, 0};
  struct tombola_error error = {0};
  enum tombola_status status;
  int exit_status;
  if (!set_defaults(options, command)) return complain("out of memory");
  exit_status = collect_arguments(&assignments, options, argc, argv);
  if (exit_status == EXIT_OK) exit_status = apply_all(options, &assignments);
  free(assignments.list);
  if (exit_status != EXIT_OK) return exit_status;
  exit_status = check_together(options);
  if (exit_status != EXIT_OK) return exit_status;
  status = tombola_sampler_params_check(&options->sampler, &error);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

void options_free(struct options *options) {
  for (size_t i = 0; i < options->n_text_bias; i++)
    free(options->text_bias[i].text);
  for (size_t i = 0; options->breakers && i < options->sampler.n_dry_sequence_breakers; i++)
    free(options->breakers[i]);
  options_free_answer(options);
  free(options->breakers);
  free(options->suppress);
  free(options->text_bias);
  free(options->logit_bias);
  free(options->bias_file);
  free(options->samplers);
  free(options->origins);
  *options = (struct options){0};
}
