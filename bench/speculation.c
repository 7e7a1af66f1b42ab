/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens per second with and without drafts from the text, in one run: a greedy answer to
 * bench/data/copy-edit.txt, one thread, each way in turn and several times, the prompt's own pass left out.
 * Prints the medians of wall and processor time (the machine may be busy), the acceptance, the tokens per
 * round, and where the two answers differ, if they do.
 *
 *   bench_speculation MODEL PROMPT-FILE [TOKENS [REPEATS [DRAFT-MODEL]]]
 *
 * With a draft model its drafts are measured instead of the text's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tombola/llama.h>
#include <tombola/session.h>

enum { MOST_TOKENS = 2048, MOST_REPEATS = 32, CONTEXT = 4096 };

struct answer {
  tombola_token tokens[MOST_TOKENS];
  size_t count;
};

/* One way of generating, and what it took. */
struct way {
  const char *name;
  tombola_speculation *speculation;
  tombola_session *session;
  struct answer answer;
  double wall[MOST_REPEATS], processor[MOST_REPEATS];
  struct tombola_generation_stats stats;
};

struct bench {
  tombola_model *model, *draft;
  tombola_sampler *sampler;
  tombola_token *prompt;
  size_t prompt_count;
  int64_t max_tokens;
  size_t repeats;
};

static void check(enum tombola_status status, const struct tombola_error *error, const char *what) {
  if (status == TOMBOLA_OK) return;
  fprintf(stderr, "bench_speculation: %s: %s\n", what,
          error->message[0] ? error->message : tombola_status_text(status));
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *room(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory) return memory;
  fprintf(stderr, "bench_speculation: out of memory\n");
  exit(1);
}

/* ---- the prompt ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = room(1 << 16, 1);
  if (!file || fread(text, 1, (1 << 16) - 1, file) == 0) {
    fprintf(stderr, "bench_speculation: %s can't be read\n", path);
    exit(1);
  }
  fclose(file);
  return text;
}

static void make_prompt(struct bench *bench, const char *path) {
  struct tombola_error error = {.message = ""};
  char *text = read_file(path);
  const struct tombola_chat_message message = {"user", text};
  size_t length;
  tombola_model_apply_template(bench->model, NULL, &message, 1, 1, NULL, 0, &length, &error);
  char *chat = room(length + 1, 1);
  check(tombola_model_apply_template(bench->model, NULL, &message, 1, 1, chat, length, &length, &error),
        &error, "the chat template");
  bench->prompt = room(length + 16, sizeof *bench->prompt);
  check(tombola_model_tokenize(bench->model, chat, length,
                               TOMBOLA_TOKENIZE_ADD_SPECIAL | TOMBOLA_TOKENIZE_PARSE_SPECIAL, bench->prompt,
                               length + 16, &bench->prompt_count, &error),
        &error, "the prompt");
  free(chat);
  free(text);
}

/* ---- measuring ---- */

static int note(void *context, const struct tombola_token_event *event) {
  struct answer *answer = context;
  answer->tokens[answer->count++] = event->token;
  return 1;
}

/* The time begins with the first token: what runs the prompt is the same both ways. */
struct watched {
  struct answer *answer;
  double wall, processor;
};

static int note_and_start(void *context, const struct tombola_token_event *event) {
  struct watched *watched = context;
  if (event->index == 0) {
    watched->wall = seconds(CLOCK_MONOTONIC);
    watched->processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
  }
  return note(watched->answer, event);
}

static void run(struct bench *bench, struct way *way, size_t repeat) {
  struct watched watched = {.answer = &way->answer};
  struct tombola_generate_params params = {.struct_size = sizeof params,
                                           .max_tokens = bench->max_tokens,
                                           .on_token = note_and_start,
                                           .context = &watched,
                                           .speculation = way->speculation};
  struct tombola_error error = {.message = ""};
  way->answer.count = 0;
  check(tombola_session_generate(way->session, bench->sampler, bench->prompt, bench->prompt_count, &params,
                                 &way->stats, &error),
        &error, way->name);
  way->wall[repeat] = seconds(CLOCK_MONOTONIC) - watched.wall;
  way->processor[repeat] = seconds(CLOCK_PROCESS_CPUTIME_ID) - watched.processor;
  fprintf(stderr, "%-8s %4zu tokens, %.2f s, processor %.2f s\n", way->name, way->stats.generated,
          way->wall[repeat], way->processor[repeat]);
}

static int by_size(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static double median(double *times, size_t count) {
  qsort(times, count, sizeof *times, by_size);
  return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

static void report(struct bench *bench, struct way ways[2]) {
  double wall[2], processor[2];
  for (size_t i = 0; i < 2; i++) {
    double tokens = (double)(ways[i].answer.count - 1);
    wall[i] = tokens / median(ways[i].wall, bench->repeats);
    processor[i] = tokens / median(ways[i].processor, bench->repeats);
    printf("%-8s %7.2f tokens/s, %7.2f tokens a second of processor time, %zu tokens\n", ways[i].name,
           wall[i], processor[i], ways[i].answer.count);
  }
  const struct tombola_speculation_stats *stats = &ways[1].stats.speculation;
  printf("speed-up %.2f (processor time %.2f)\n", wall[1] / wall[0], processor[1] / processor[0]);
  printf("accepted %zu of %zu drafted tokens (%.1f %%), %.2f tokens a round, %zu rounds, %zu with a draft, "
         "%zu in "
         "pauses, drafting took %.2f s\n",
         stats->accepted, stats->drafted, 100 * stats->acceptance_rate, stats->tokens_per_round,
         stats->rounds, stats->drafted_rounds, stats->paused_rounds, stats->draft_seconds);
  size_t same = 0,
         shorter = ways[0].answer.count < ways[1].answer.count ? ways[0].answer.count : ways[1].answer.count;
  while (same < shorter && ways[0].answer.tokens[same] == ways[1].answer.tokens[same])
    same++;
  if (same == ways[0].answer.count && same == ways[1].answer.count)
    printf("the answers are the same\n");
  else
    printf("the answers are the same up to token %zu\n", same);
}

/* ---- setting up ---- */

static tombola_model *load(const char *path) {
  const struct tombola_backend *const backends[] = {tombola_backend_llama()};
  struct tombola_model_params params = {
      .struct_size = sizeof params, .context = CONTEXT, .sequences = 2, .threads = 1};
  struct tombola_error error = {.message = ""};
  tombola_model *model;
  check(tombola_model_load(backends, 1, path, &params, &model, &error), &error, path);
  return model;
}

static void set_up(struct bench *bench, struct way ways[2]) {
  struct tombola_error error = {.message = ""};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  check(tombola_sampler_params_default(&params, NULL, &error), &error, "the sampler");
  params.temperature = 0;
  check(tombola_sampler_new(&params, NULL, tombola_vocabulary_count(tombola_model_vocabulary(bench->model)),
                            NULL, &bench->sampler, &error),
        &error, "the sampler");
  for (int32_t i = 0; i < 2; i++)
    check(tombola_session_new(bench->model, i, NULL, &ways[i].session, &error), &error, "the session");
  struct tombola_speculation_params speculation = {.struct_size = sizeof speculation,
                                                   .kind = bench->draft ? TOMBOLA_SPECULATION_DRAFT_MODEL
                                                                        : TOMBOLA_SPECULATION_PROMPT_LOOKUP,
                                                   .draft = bench->draft};
  check(tombola_speculation_new(bench->model, &speculation, NULL, &ways[1].speculation, &error), &error,
        "speculation");
}

static long number(const char *text, long least, long most) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*end == '\0' && value >= least && value <= most) return value;
  fprintf(stderr, "bench_speculation: %s: must be %ld to %ld\n", text, least, most);
  exit(2);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 6) {
    fprintf(stderr, "usage: bench_speculation MODEL PROMPT-FILE [TOKENS [REPEATS [DRAFT-MODEL]]]\n");
    return 2;
  }
  struct bench bench = {.max_tokens = argc > 3 ? number(argv[3], 2, MOST_TOKENS) : 768,
                        .repeats = argc > 4 ? (size_t)number(argv[4], 1, MOST_REPEATS) : 3};
  struct way *ways = room(2, sizeof *ways);
  bench.model = load(argv[1]);
  if (argc > 5) bench.draft = load(argv[5]);
  ways[0].name = "plain";
  ways[1].name = bench.draft ? "draft" : "lookup";
  make_prompt(&bench, argv[2]);
  set_up(&bench, ways);
  for (size_t repeat = 0; repeat < bench.repeats; repeat++)
    for (size_t i = 0; i < 2; i++)
      run(&bench, &ways[i], repeat);
  report(&bench, ways);
  for (size_t i = 0; i < 2; i++)
    tombola_session_free(ways[i].session);
  tombola_speculation_free(ways[1].speculation);
  tombola_sampler_free(bench.sampler);
  tombola_model_free(bench.draft);
  tombola_model_free(bench.model);
  free(bench.prompt);
  free(ways);
  return 0;
}
