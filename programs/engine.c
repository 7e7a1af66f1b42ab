/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"
#include "constrain.h"
#include "paths.h"
#include "terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#ifdef TOMBOLA_WITH_LLAMA
#include <tombola/llama.h>
#endif

static int show_loading(void *context, float done) {
  (void)context;
  progress_show("loading the model", (double)done);
  return 1; /* Ctrl-C leaves the process meanwhile, see INTERRUPT_LEAVES */
}

/* The model's path; the default one when no other was given. NULL after a complaint. */
static const char *find_model(const struct options *options, char *path) {
  if (options->model) return options->model;
  if (!path_default_model(path)) {
    complain("no model: HOME is not set, so there is no cache; give one with --model PATH");
    return NULL;
  }
  if (access(path, F_OK) != 0) {
    complain(
        "the default model is not here: %s. `make run` fetches it, or give another one with --model PATH",
        path);
    return NULL;
  }
  return path;
}

/* What to do about a model that can't be loaded. */
static const char *hint(const char *path, enum tombola_status status) {
  size_t length = strlen(path);
  bool script = strncmp(path, "script:", 7) == 0, json = length > 5 && strcmp(path + length - 5, ".json") == 0;
  if (script) return "";
  if (status == TOMBOLA_NOT_FOUND) return " (--model takes a GGUF file; tombola models lists those of the cache)";
  return json ? " (--model script:FILE plays a script back)" : "";
}

static int load(const struct engine *engine, const char *path, tombola_model **model) {
  const struct options *options = engine->options;
  const struct tombola_backend *backends[] = {
      tombola_backend_scripted(),
#ifdef TOMBOLA_WITH_LLAMA
      tombola_backend_llama(),
#endif
  };
  struct tombola_model_params params = {.struct_size = sizeof(params), .progress = show_loading};
  struct tombola_error error = {0};
  enum tombola_status status;
  params.context = (size_t)options->context;
  params.threads = (unsigned)options->threads;
  params.kv_type = (enum tombola_kv_type)options->kv;
  status = tombola_model_load(backends, sizeof(backends) / sizeof(backends[0]), path, &params, model, &error);
  progress_clear();
  if (status == TOMBOLA_OK) return EXIT_OK;
  if (status == TOMBOLA_CANCELLED) return EXIT_INTERRUPTED;
  return complain("%s%s", error.message[0] ? error.message : tombola_status_text(status), hint(path, status));
}

int engine_load_model(const struct options *options, tombola_model **model) {
  const struct engine engine = {.options = options};
  char path[PATH_SIZE];
  const char *found = find_model(options, path);
  return found ? load(&engine, found, model) : EXIT_FAILED;
}

/* Tries the chat format on one message, so that a bad one is known before the first question. */
static int choose_template(struct engine *engine) {
  const char *wanted = engine->options->chat_template;
  const struct tombola_chat_message probe = {"user", "?"};
  struct tombola_error error = {0};
  enum tombola_status status;
  size_t length;
  if (wanted && strcmp(wanted, "none") == 0) {
    engine->plain = true;
    return EXIT_OK;
  }
  status = tombola_model_apply_template(engine->model, wanted, &probe, 1, 1, NULL, 0, &length, &error);
  if (status == TOMBOLA_OK || status == TOMBOLA_OUT_OF_RANGE) {
    engine->chat_template = wanted;
    return EXIT_OK;
  }
  if (status == TOMBOLA_NO_MEMORY) return complain_error(status, &error);
  if (wanted) return complain_usage("--chat-template: %s", error.message);
  engine->plain = true;
  if (engine->info.chat_template) note("the model's chat template can't be used: %s", error.message);
  note("%s: plain completion; --chat-template NAME sets one",
       engine->info.chat_template ? "no chat format" : "the model has no chat template");
  return EXIT_OK;
}

/* A trace has each token's probability, so that it asks for one as well. */
static enum tombola_status set_logprobs(const struct options *options, tombola_sampler *sampler) {
  if (!sampler || (!options->logprobs && !options->trace_file)) return TOMBOLA_OK;
  return tombola_sampler_set_logprobs(sampler, (enum tombola_logprob_stage)options->logprobs_stage,
                                      options->logprobs ? (size_t)options->logprobs : 1);
}

/* The sampler after the reasoning. Its seed follows the other's, so that one seed repeats the run, and differs, so
 * that the numbers do. */
static enum tombola_status make_answer_sampler(struct engine *engine, const struct options *options,
                                               struct tombola_error *error) {
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(engine->model);
  struct tombola_sampler_params params = options->answer_sampler;
  if (!options->has_answer_sampler) return TOMBOLA_OK;
  params.logit_bias = options->sampler.logit_bias; /* texts are biases of tokens by now */
  params.n_logit_bias = options->sampler.n_logit_bias;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = tombola_sampler_seed(engine->sampler) ^ 1;
  return tombola_sampler_new(&params, vocabulary, tombola_vocabulary_count(vocabulary), NULL, &engine->answer_sampler,
                             error);
}

static int make_sampler(struct engine *engine, struct options *options) {
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(engine->model);
  struct tombola_error error = {0};
  enum tombola_status status = options_resolve_bias(options, vocabulary, &error);
  if (status == TOMBOLA_OK)
    status = tombola_sampler_new(&options->sampler, vocabulary, tombola_vocabulary_count(vocabulary), NULL,
                                 &engine->sampler, &error);
  if (status == TOMBOLA_OK) status = make_answer_sampler(engine, options, &error);
  if (status == TOMBOLA_OK) status = set_logprobs(options, engine->sampler);
  if (status == TOMBOLA_OK) status = set_logprobs(options, engine->answer_sampler);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

int engine_renew_sampler(struct engine *engine, struct options *options) {
  struct engine made = {.options = options, .model = engine->model};
  int exit_status = make_sampler(&made, options);
  if (exit_status == EXIT_OK && engine->speculation && tombola_sampler_refuses_speculation(made.sampler))
    exit_status = complain_usage("the dialect %s speculates only greedily", options->sampler.dialect);
  if (exit_status != EXIT_OK) {
    tombola_sampler_free(made.sampler);
    tombola_sampler_free(made.answer_sampler);
    return exit_status;
  }
  tombola_sampler_free(engine->sampler);
  tombola_sampler_free(engine->answer_sampler);
  engine->sampler = made.sampler;
  engine->answer_sampler = made.answer_sampler;
  return EXIT_OK;
}

/* Whatever drafts, if anything does. */
static int make_speculation(struct engine *engine) {
  const struct options *options = engine->options;
  struct tombola_speculation_params params = {.struct_size = sizeof(params)};
  struct tombola_error error = {0};
  enum tombola_status status;
  int exit_status;
  if (!options->draft_model && !options->prompt_lookup && !options->draft_kind) return EXIT_OK;
  if (tombola_sampler_refuses_speculation(engine->sampler))
    return complain_usage("the dialect %s speculates only greedily: give --greedy, or neither --draft-model nor "
                          "--prompt-lookup",
                          options->sampler.dialect);
  params.kind = TOMBOLA_SPECULATION_PROMPT_LOOKUP;
  params.max_draft = (size_t)options->draft_tokens;
  if (options->draft_model) {
    exit_status = load(engine, options->draft_model, &engine->draft);
    if (exit_status != EXIT_OK) return exit_status;
    params.kind = TOMBOLA_SPECULATION_DRAFT_MODEL;
    params.draft = engine->draft;
    params.draft_tokens = params.max_draft;
    params.max_draft = 0;
  }
  status = tombola_speculation_new(engine->model, &params, NULL, &engine->speculation, &error);
  return status == TOMBOLA_OK ? EXIT_OK : complain_error(status, &error);
}

/* ---- files ---- */

static int open_files(struct engine *engine) {
  const struct options *options = engine->options;
  struct tombola_error error = {0};
  enum tombola_status status = TOMBOLA_NOT_FOUND;
  if (options->prompt_cache) status = tombola_session_load(engine->session, options->prompt_cache, &error);
  if (status != TOMBOLA_OK && status != TOMBOLA_NOT_FOUND)
    return complain("--prompt-cache: %s", error.message[0] ? error.message : tombola_status_text(status));
  if (options->trace_file) engine->trace = fopen(options->trace_file, "w");
  if (options->trace_file && !engine->trace)
    return complain("cannot write the trace %s: %s", options->trace_file, strerror(errno));
  return EXIT_OK;
}

int engine_finish(struct engine *engine) {
  const struct options *options = engine->options;
  struct tombola_error error = {0};
  enum tombola_status status = TOMBOLA_OK;
  bool written = true;
  if (engine->trace) {
    written = !ferror(engine->trace);
    written = fclose(engine->trace) == 0 && written;
    engine->trace = NULL;
  }
  if (!written) return complain("cannot write the trace %s", options->trace_file);
  if (options->prompt_cache) status = tombola_session_save(engine->session, options->prompt_cache, &error);
  if (status == TOMBOLA_OK) return EXIT_OK;
  return complain("--prompt-cache: %s", error.message[0] ? error.message : tombola_status_text(status));
}

/* The file is what the person chose; the name in it, where that differs, is whatever its maker wrote. */
static void introduce(const struct engine *engine, const char *path) {
  const struct tombola_model_info *info = &engine->info;
  const char *slash = strrchr(path, '/'), *colon = strchr(path, ':');
  const char *file = slash ? slash + 1 : colon ? colon + 1 : path;
  bool same = strcmp(file, info->name) == 0;
  char chain[512];
  if (engine->options->quiet) return;
  terminal_dim("%s%s%s%s on %s, context %zu", file, same ? "" : " (", same ? "" : info->name, same ? "" : ")",
               info->device, info->context);
  if (info->trained_context && info->context > info->trained_context)
    note("the model was trained for %zu positions; beyond them its answers get worse", info->trained_context);
  if (!engine->options->verbose) return;
  tombola_sampler_describe(engine->sampler, chain, sizeof(chain));
  terminal_dim("dialect %s: %s", engine->options->sampler.dialect, chain);
  terminal_dim("chat format: %.60s", engine->plain           ? "none, plain completion"
                                     : engine->chat_template ? engine->chat_template
                                                             : "the model's own");
}

int engine_start(struct engine *engine, struct options *options) {
  char path[PATH_SIZE];
  const char *model;
  struct tombola_error error = {0};
  enum tombola_status status;
  int exit_status = constrain_check(options);
  *engine = (struct engine){.options = options};
  if (exit_status != EXIT_OK) return exit_status;
  model = find_model(options, path);
  if (!model) return EXIT_FAILED;
  exit_status = load(engine, model, &engine->model);
  if (exit_status != EXIT_OK) return exit_status;
  engine->info.struct_size = sizeof(engine->info);
  tombola_model_info(engine->model, &engine->info);
  exit_status = make_sampler(engine, options);
  if (exit_status == EXIT_OK) exit_status = choose_template(engine);
  if (exit_status != EXIT_OK) return exit_status;
  status = tombola_session_new(engine->model, 0, NULL, &engine->session, &error);
  if (status != TOMBOLA_OK) return complain_error(status, &error);
  exit_status = make_speculation(engine);
  if (exit_status == EXIT_OK) exit_status = constrain_make(engine);
  if (exit_status == EXIT_OK) exit_status = open_files(engine);
  if (exit_status == EXIT_OK) introduce(engine, model);
  return exit_status;
}

void engine_free(struct engine *engine) {
  if (engine->trace) fclose(engine->trace);
  constrain_free(engine);
  tombola_speculation_free(engine->speculation);
  tombola_model_free(engine->draft);
  tombola_session_free(engine->session);
  tombola_sampler_free(engine->sampler);
  tombola_sampler_free(engine->answer_sampler);
  tombola_model_free(engine->model);
  *engine = (struct engine){0};
}
