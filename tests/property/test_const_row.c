/* SPDX-License-Identifier: Apache-2.0 */
/* A row is read and never written, whatever the dialect and the stages: here it lies in memory that can't be written.
 * (minfer destroys the row that it is given; ours mustn't, because several samplers may read one row.) */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <tombola/sampler.h>
#include <unistd.h>

#include <cmocka.h>

enum { VOCAB = 3000, BYTES = VOCAB * sizeof(float) };

/* Two pages at most; the caller unmaps them. */
static float *new_row(size_t *size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *size = (BYTES + page - 1) / page * page;
  int zero = open("/dev/zero", O_RDWR);
  assert_true(zero >= 0);
  float *logits = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
  assert_true(logits != MAP_FAILED);
  close(zero);
  for (size_t i = 0; i < VOCAB; i++)
    logits[i] = (float)((i * 2654435761u) % 1000) / 100.0f;
  assert_int_equal(mprotect(logits, *size, PROT_READ), 0);
  return logits;
}

/* Every stage of the dialect's chain that can be on at once, and edits of many blocks. */
static void fill(struct tombola_sampler_params *params, const struct tombola_logit_bias *bias, size_t n) {
  params->repeat_penalty = 1.3f;
  params->presence_penalty = 0.5f;
  params->dry_multiplier = 0.8f;
  params->no_repeat_ngram = 3;
  params->top_n_sigma = 2;
  params->typical_p = 0.95f;
  params->xtc_probability = 1;
  params->xtc_threshold = 0.01f;
  params->dynatemp_range = 0.3f;
  params->temperature = 0.9f;
  params->logit_bias = bias;
  params->n_logit_bias = n;
}

static void sample_all(const struct tombola_row *row, const char *dialect, bool greedy) {
  struct tombola_logit_bias bias[] = {{0, 5}, {1, -INFINITY}, {700, 2}, {VOCAB - 1, 4}};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
  fill(&params, bias, sizeof bias / sizeof bias[0]);
  if (greedy) params.temperature = params.dynatemp_range = 0;
  assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, NULL, &sampler, NULL), TOMBOLA_OK);
  for (tombola_token i = 0; i < 60; i++) {
    tombola_token token;
    assert_int_equal(tombola_sampler_accept(sampler, i % 7 * 400), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(sampler, row, NULL, &token), TOMBOLA_OK);
  }
  tombola_sampler_free(sampler);
}

static void test_rows_are_only_read(void **state) {
  size_t size;
  float *logits = new_row(&size);
  struct tombola_row row = {logits, VOCAB, TOMBOLA_F32};
  (void)state;
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    sample_all(&row, tombola_dialect_at(i)->name, false);
    sample_all(&row, tombola_dialect_at(i)->name, true);
  }
  assert_int_equal(munmap(logits, size), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_only_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
