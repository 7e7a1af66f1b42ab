/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that llama-cli has and this program hasn't. Where one asks for what is done anyway it is taken, so that a command
 * line that is known from there works; else it is refused with the reason, and never ignored. */
#include "options_sources.h"
#include "terminal.h"

#include <string.h>

#ifdef TOMBOLA_WITH_LLAMA
#include <llama.h>
#endif

struct foreign {
  const char *name,
      *alias;        /* without dashes, but for those with one dash and several letters; alias: or NULL */
  const char *usual; /* the values that are what is done, with a space behind each; NULL: it takes none */
  unsigned taken_by; /* commands in which it changes nothing */
  const char *why;   /* what is done in its place */
};

static const struct foreign foreign[] = {
    {"-cnv", "conversation", NULL, COMMAND_CHAT, "run gives one answer; tombola chat is a conversation"},
    {"-no-cnv", "no-conversation", NULL, 0, "--chat-template none is a completion without a chat format"},
    {"-st", "single-turn", NULL, COMMAND_RUN, "tombola run gives one answer"},
    {"jinja", NULL, NULL, 0,
     "libllama recognises templates and runs none; --chat-template NAME names another one"},
    {"no-jinja", NULL, NULL, COMMAND_ANSWERS, ""},
    {"-fa", "flash-attn", "auto ", COMMAND_ANSWERS, "libllama decides (auto)"},
    {"-ngl", "gpu-layers", "auto ", COMMAND_ANSWERS, NULL},
    {"n-gpu-layers", NULL, "auto ", COMMAND_ANSWERS, NULL},
    {"mmap", NULL, NULL, COMMAND_ANSWERS, ""},
    {"no-mmap", NULL, NULL, 0, "model files are mapped into memory"},
    {"mlock", NULL, NULL, 0, "the memory of models isn't locked"},
    {"no-warmup", NULL, NULL, COMMAND_ANSWERS, ""},
    {"warmup", NULL, NULL, 0, "nothing is computed before the prompt"},
    {"no-display-prompt", NULL, NULL, COMMAND_ANSWERS, ""},
    {"display-prompt", NULL, NULL, 0, "the prompt isn't repeated"}};

/* How many layers are on a GPU: as many as there are where libllama has one, none where it hasn't. */
static const char *layers_usual(const char **why) {
#ifdef TOMBOLA_WITH_LLAMA
  if (llama_supports_gpu_offload()) {
    *why = "all layers are on the GPU (auto, all, -1)";
    return "auto all -1 ";
  }
#endif
  *why = "there is no GPU to put layers on (auto, 0)";
  return "auto 0 ";
}

/* Whether a list has a word. */
static bool has_word(const char *list, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = list; *at; at += strcspn(at, " ") + 1)
    if (length == strcspn(at, " ") && strncmp(at, word, length) == 0) return true;
  return false;
}

static bool is_named(const char *name, const char *given, size_t length, int dashes) {
  if (!name || (name[0] == '-') != (dashes == 1)) return false;
  name += name[0] == '-';
  if (strlen(name) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] != (given[i] == '_' ? '-' : given[i])) return false;
  return true;
}

int foreign_take(const struct command *command, int argc, char **argv, int *exit_status) {
  const char *argument = argv[0], *why;
  const int dashes = argument[1] == '-' ? 2 : 1;
  const char *name = argument + dashes;
  const size_t length = strcspn(name, "=");
  const struct foreign *found = NULL;
  for (size_t i = 0; !found && i < sizeof(foreign) / sizeof(foreign[0]); i++)
    if (is_named(foreign[i].name, name, length, dashes) || is_named(foreign[i].alias, name, length, dashes))
      found = &foreign[i];
  if (!found || !(command->bit & COMMAND_ANSWERS)) return -1;
  const int shown = (int)length + dashes;
  const char *usual = found->usual, *value = name[length] == '=' ? name + length + 1 : NULL;
  why = found->why;
  if (!why) usual = layers_usual(&why);
  *exit_status = EXIT_USAGE;
  if (!usual && value) return complain_usage("%.*s takes no value", shown, argument), 0;
  if (usual && !value && argc > 1) value = argv[1];
  if (usual && !value) return complain_usage("%.*s needs a value (%s)", shown, argument, why), 0;
  if (!(found->taken_by & command->bit) || (usual && !has_word(usual, value)))
    return complain_usage("%.*s%s%s is not supported: %s", shown, argument, usual ? " " : "",
                          usual ? value : "", why),
           0;
  return usual && name[length] != '=' ? 2 : 1;
}
