/* SPDX-License-Identifier: Apache-2.0 */
/* What --help and --version print, made of the tables of commands and options. */
#include "options.h"
#include "terminal.h"
#include "tombola_commit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef TOMBOLA_WITH_LLAMA
#include <tombola/llama.h>
#endif

static const char *const group_names[GROUP_COUNT] = {
    [GROUP_MODEL] = "Model",           [GROUP_PROMPT] = "Prompt",     [GROUP_ANSWER] = "Answer",
    [GROUP_CONSTRAINT] = "Constraint", [GROUP_SAMPLING] = "Sampling", [GROUP_SAMPLE] = "Row and draws",
    [GROUP_BENCH] = "Measurement",     [GROUP_OUTPUT] = "Output"};

int help_print(void) {
  const char *task = "";
  printf("tombola: the logits of a language model to tokens, and tokens to text\n"
         "\nusage: tombola COMMAND [OPTION]...\n");
  for (const struct command *command = commands; command->name; command++) {
    if (strcmp(task, command->task) != 0) printf("\n%s\n", command->task);
    task = command->task;
    printf("  %-8s %s\n", command->name, command->summary);
  }
  printf("\nOptions that most people need\n"
         "  -m, --model PATH         another model than the default one (any GGUF file)\n"
         "  -p, --prompt TEXT        the question; without it, run reads standard input\n"
         "      --system TEXT        what the model is told before the conversation\n"
         "  -n, --max-tokens N       longest answer\n"
         "      --greedy             always the likeliest token\n"
         "      --temperature X      0 is greedy, 1 the model's own distribution\n"
         "  -s, --seed N             the same seed gives the same answer\n"
         "      --dialect NAME       the engine whose sampling rules hold:");
  for (size_t i = 0; i < tombola_dialect_count(); i++)
    printf("%s %s", i ? "," : "", tombola_dialect_at(i)->name);
  printf("\n\n  tombola COMMAND --help   every option of a command\n"
         "  tombola --version        version, commit, libllama and instruction set\n"
         "\nExamples\n"
         "  tombola run -p \"What is the capital of France?\" --greedy\n"
         "  tombola run --file letter.txt --max-tokens 200 >answer.txt\n"
         "  tombola chat --system \"Answer in one sentence.\"\n");
  return output_finish();
}

/* Adds to a text, cut to `size`. */
static void add(char *text, size_t size, const char *more) {
  size_t length = strlen(text);
  snprintf(text + length, size - length, "%s", more);
}

/* Adds a name as the command line spells it. */
static void add_name(char *text, size_t size, const char *name) {
  size_t length = strlen(text);
  option_spell(text + length, size - length, name);
}

/* "-n, --max-tokens N" with every alias. */
static void print_names(const struct option *option, char *text, size_t size) {
  const char *letter = NULL;
  for (const char *const *alias = option->aliases; alias && *alias; alias++)
    if (!(*alias)[1]) letter = *alias;
  if (letter)
    snprintf(text, size, "-%s, ", letter);
  else
    snprintf(text, size, "    ");
  add_name(text, size, option->name);
  for (const char *const *alias = option->aliases; alias && *alias; alias++) {
    if (!(*alias)[1]) continue;
    add(text, size, ", ");
    add_name(text, size, *alias);
  }
  if (!option_takes_value(option)) return;
  add(text, size, " ");
  add(text, size, option->value);
}

/* "0 to 1", "above 0", "any number". */
static void print_range(const struct tombola_param_info *param, char *text, size_t size) {
  bool low = isfinite(param->min), high = isfinite(param->max);
  const char *above = param->min_open ? "above " : "";
  const char *below = param->max_open ? "below " : "";
  if (param->type == TOMBOLA_PARAM_INT && param->max >= INT32_MAX) high = false;
  if (param->type == TOMBOLA_PARAM_INT && param->min <= INT32_MIN) low = false;
  if (low && high)
    snprintf(text, size, "%s%g to %s%g", above, param->min, below, param->max);
  else if (low)
    snprintf(text, size, param->min_open ? "above %g" : "%g or more", param->min);
  else if (high)
    snprintf(text, size, param->max_open ? "below %g" : "%g or less", param->max);
  else
    snprintf(text, size, param->type == TOMBOLA_PARAM_INT ? "any whole number" : "any number");
}

static void print_choices(const char *const *choices, char *text, size_t size) {
  snprintf(text, size, "%s", "");
  for (; *choices; choices++) {
    if (*text) add(text, size, ", ");
    add(text, size, *choices);
  }
}

/* The range, the choices and the default, in brackets. */
static void print_facts(const struct option *option, const struct options *defaults, char *text,
                        size_t size) {
  char value[256] = "", range[128] = "";
  const struct tombola_param_info *param = option->param;
  if (option->show) {
    option->show(defaults, value, sizeof(value));
  } else if (option->kind == OPTION_PARAM && param) {
    tombola_sampler_params_get(&defaults->sampler, option->name, value, sizeof(value));
    if (param->type == TOMBOLA_PARAM_CHOICE)
      print_choices(param->choices, range, sizeof(range));
    else if (param->type != TOMBOLA_PARAM_SEED && param->type != TOMBOLA_PARAM_BOOL)
      print_range(param, range, sizeof(range));
  } else if (option->kind == OPTION_CHOICE) {
    print_choices(option->choices, range, sizeof(range));
    snprintf(value, sizeof(value), "%s",
             option->choices[*(const int *)(const void *)((const char *)defaults + option->offset)]);
  } else if (option->kind == OPTION_INTEGER && !option->unset) {
    snprintf(value, sizeof(value), "%lld",
             (long long)*(const int64_t *)(const void *)((const char *)defaults + option->offset));
  } else if (option->unset) {
    snprintf(value, sizeof(value), "%s", option->unset);
  }
  snprintf(text, size, "%s%s%s%s%s%s", *range || *value ? " [" : "", range, *range && *value ? "; " : "",
           *value ? "default " : "", value, *range || *value ? "]" : "");
}

static void print_option(const struct option *option, const struct options *defaults) {
  char names[160], facts[400];
  print_names(option, names, sizeof(names));
  print_facts(option, defaults, facts, sizeof(facts));
  if (strlen(names) > 32)
    printf("  %s\n  %32s", names, "");
  else
    printf("  %-32s", names);
  printf(" %s%s\n", option->help ? option->help : "", facts);
}

int help_print_command(const struct command *command) {
  struct options defaults;
  struct option option;
  int exit_status = options_parse(&defaults, command, 0, NULL);
  if (exit_status == EXIT_OK) {
    printf("usage: tombola %s [OPTION]...%s%s\n\n%s\n", command->name, command->operands ? " " : "",
           command->operands ? command->operands : "", command->summary);
    for (int group = 0; group < GROUP_COUNT; group++) {
      bool any = false;
      for (size_t i = 0; option_at(i, &option); i++) {
        if ((int)option.group != group || !(option.commands & command->bit) || option.kind == OPTION_ANSWER)
          continue;
        if (!any) printf("\n%s\n", group_names[group]);
        any = true;
        print_option(&option, &defaults);
      }
    }
    if (command->bit & COMMAND_ANSWERS)
      printf("\nAfter the reasoning\n"
             "      --answer-NAME X              any sampling parameter above, but for the answer that "
             "follows the\n"
             "                                   reasoning: --answer-temperature 0.2, --answer-top-k 5\n"
             "\nFlags of llama-cli that ask for what is done anyway are taken (-ngl auto, -fa auto, --no-warmup, "
             "...);\n"
             "those that ask for something else are refused, with the reason.\n");
    if (command->bit & COMMAND_SAMPLES)
      printf("\nEach option has a variable: TOMBOLA_ARG_TOP_K=5 is --top-k 5. A flag goes before a variable, "
             "this before\n"
             "a preset, this before what the model recommends (generation_config.json in its folder, the "
             "GGUF file's\n"
             "general.sampling keys), this before the dialect.\n"
             "\nDefaults are those of the dialect %s; another dialect has its own (--dialect NAME "
             "--print-config).\n",
             defaults.sampler.dialect);
    exit_status = output_finish();
  }
  options_free(&defaults);
  return exit_status;
}

int version_print(void) {
  struct tombola_error error = {0};
  const char *cpu = NULL;
  enum tombola_status status = tombola_cpu(&cpu, &error);
  if (status != TOMBOLA_OK) return complain_error(status, &error);
  printf("tombola %s (commit %s)\n", tombola_version(), TOMBOLA_COMMIT);
#ifdef TOMBOLA_WITH_LLAMA
  printf("libllama %s\n", tombola_llama_version());
#else
  printf("libllama: not built in\n");
#endif
  printf("instruction set: %s\n", cpu);
  return output_finish();
}
