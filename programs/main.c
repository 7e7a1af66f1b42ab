/* SPDX-License-Identifier: Apache-2.0 */
/* tombola COMMAND: the list of commands, and how one is called. */
#include "options.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command commands[] = {
    {"chat", COMMAND_CHAT, "Talk to a model", "a conversation; one line is one turn", NULL, command_chat},
    {"run", COMMAND_RUN, "Talk to a model", "one answer, to --prompt, --file or standard input", NULL,
     command_run},
    {"models", COMMAND_MODELS, "Talk to a model", "the models that the cache holds", NULL, command_models},
    {"sample", COMMAND_SAMPLE, "Check and measure a sampler",
     "what a dialect keeps of a row of logits, and what it draws", "[FILE]", command_sample},
    {"bench", COMMAND_BENCH, "Check and measure a sampler", "how fast sampling is here, beside llama.cpp's",
     NULL, command_bench},
    {"dialects", COMMAND_DIALECTS, "Check and measure a sampler", "the engines' rules side by side", "[NAME...]",
     command_dialects},
    {"selftest", COMMAND_SELFTEST, "Check and measure a sampler",
     "whether this build samples as it should on this machine", NULL, command_selftest},
    {"schema", COMMAND_SCHEMA, "Check a constraint", "whether a JSON Schema is enforced, and what documents it accepts",
     "check [FILE|TEXT]", command_schema},
    {NULL, 0, NULL, NULL, NULL, NULL}};

static const char *const planned_commands[] = {"serve", "explain", "replay", "completions", NULL};

const struct command *command_find(const char *name) {
  for (const struct command *command = commands; command->name; command++)
    if (strcmp(command->name, name) == 0) return command;
  return NULL;
}

static int refuse_command(const char *name) {
  char known[128] = "";
  for (const char *const *planned = planned_commands; *planned; planned++)
    if (strcmp(*planned, name) == 0) return complain_usage("the command %s is not supported yet", name);
  if (*name == '-')
    return complain_usage("the command comes first: tombola COMMAND %s (see tombola --help)", name);
  for (const struct command *command = commands; command->name; command++) {
    size_t length = strlen(known);
    snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "", command->name);
  }
  return complain_usage("unknown command \"%s\" (there are %s)", name, known);
}

static int call(const struct command *command, int argc, char **argv) {
  struct options options;
  struct tombola_error error = {0};
  const char *cpu;
  enum tombola_status status = TOMBOLA_OK;
  int exit_status = options_parse(&options, command, argc, argv);
  if (exit_status == EXIT_OK) {
    terminal_start(&options);
    interrupt_set(INTERRUPT_LEAVES);
    if (options.help)
      exit_status = help_print_command(command);
    else if (options.print_config)
      exit_status = options_print(&options);
    else if ((status = tombola_cpu(&cpu, &error)) != TOMBOLA_OK)
      exit_status = complain_error(status, &error);
    else
      exit_status = command->run(&options);
  }
  options_free(&options);
  return exit_status;
}

int main(int argc, char **argv) {
  const struct command *command;
  struct options none = {0};
  terminal_start(&none);
  if (argc < 2 && isatty(STDOUT_FILENO)) return help_print();
  if (argc < 2) return complain_usage("a command is missing (see tombola --help)");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    if (argc == 2) return help_print();
    command = command_find(argv[2]);
    return command ? help_print_command(command) : refuse_command(argv[2]);
  }
  if (strcmp(argv[1], "--version") == 0) return version_print();
  command = command_find(argv[1]);
  return command ? call(command, argc - 2, argv + 2) : refuse_command(argv[1]);
}
