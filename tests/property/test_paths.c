/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction set gives the same tokens and the same bits of every probability. The set is chosen once
 * a process, so the program runs itself: `test_paths digest` prints a line for each row and parameter set,
 * and the test compares the lines of TOMBOLA_CPU=scalar and TOMBOLA_CPU=avx2. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_rows.h"
#include "support.h"

#define MAX_ROW 3000
#define DRAWS   6

static const char *program;

/* FNV-1a. */
static void mix(uint64_t *digest, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++)
    *digest = (*digest ^ bytes[i]) * 0x100000001b3u;
}

/* The row as 16-bit floats, by cutting: any bits will do that both paths read alike. */
static void halve(const float *row, size_t count, enum tombola_dtype dtype, uint16_t *out) {
  for (size_t i = 0; i < count; i++) {
    uint32_t bits = support_bits(row[i]);
    uint32_t sign = bits >> 16 & 0x8000;
    int exponent = (int)(bits >> 23 & 255) - 112;
    if (dtype == TOMBOLA_BF16)
      out[i] = (uint16_t)(bits >> 16);
    else if (exponent >= 31)
      out[i] =
          (uint16_t)(sign | 0x7bff | (isinf(row[i]) ? 0x7c00 : 0)); /* the largest, or the infinity below */
    else
      out[i] = (uint16_t)(sign | (exponent <= 0 ? bits >> 18 & 0x1f
                                                : (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff)));
    if (dtype == TOMBOLA_F16 && isinf(row[i])) out[i] = (uint16_t)(sign | 0x7c00);
  }
}

static void digest_sampler(tombola_sampler *sampler, const struct tombola_row *row,
                           const struct tombola_mask *mask, uint64_t *digest) {
  static float probs[MAX_ROW];
  static struct tombola_candidate kept[MAX_ROW];
  size_t count = 0;
  for (size_t i = 0; i < DRAWS; i++) {
    tombola_token token = TOMBOLA_NO_TOKEN;
    enum tombola_status status = tombola_distribution(sampler, row, mask, probs, row->count);
    mix(digest, &status, sizeof status);
    if (status == TOMBOLA_OK) mix(digest, probs, row->count * sizeof *probs);
    if (tombola_candidates(sampler, row, mask, kept, row->count, &count) == TOMBOLA_OK)
      for (size_t k = 0; k < count; k++)
        mix(digest, &kept[k].p, sizeof kept[k].p);
    tombola_sampler_sample(sampler, row, mask, &token);
    mix(digest, &token, sizeof token);
    if (token != TOMBOLA_NO_TOKEN) tombola_sampler_accept(sampler, token);
  }
}

/* One row against one set, with all that varies chosen by the generator. */
static uint64_t digest_pair(struct support_rng *rng, size_t set_index) {
  static float row[MAX_ROW];
  static uint16_t half[MAX_ROW];
  uint32_t words[(MAX_ROW + 31) / 32];
  uint64_t digest = 0xcbf29ce484222325u;
  bool large = support_below(rng, 16) == 0;
  size_t count = 1 + support_below(rng, large ? MAX_ROW : 300);
  enum tombola_dtype dtype = (enum tombola_dtype)support_below(rng, 3);
  random_row(rng, (enum row_shape)support_below(rng, ROW_SHAPES), row, count);
  if (dtype != TOMBOLA_F32) halve(row, count, dtype, half);
  for (size_t i = 0; i < (count + 31) / 32; i++)
    words[i] = support_u32(rng);
  struct tombola_row view = {dtype == TOMBOLA_F32 ? (const void *)row : half, count, dtype};
  struct tombola_mask mask = {words, count, NULL, 0};
  struct chain_params set = parameter_set_for(set_index, count);
  struct tombola_sampler_params params =
      library_params(&set, support_u32(rng) & 1 ? "llama.cpp" : "rml", support_u32(rng) >> 1);
  tombola_sampler *sampler = NULL;
  if (tombola_sampler_new(&params, NULL, count, NULL, &sampler, NULL) != TOMBOLA_OK)
    return 0; /* a set that rml refuses */
  digest_sampler(sampler, &view, support_below(rng, 3) ? NULL : &mask, &digest);
  tombola_sampler_free(sampler);
  return digest;
}

static int print_digests(size_t pairs) {
  struct tombola_error error = {0};
  struct support_rng rng = support_rng(41);
  const char *name;
  if (tombola_cpu(&name, &error) != TOMBOLA_OK) return 2;
  puts(name);
  for (size_t i = 0; i < pairs; i++) {
    uint64_t digest = digest_pair(&rng, i % parameter_set_count);
    printf("%zu %016llx\n", i, (unsigned long long)digest);
  }
  return 0;
}

/* The program's output under a set; NULL when the machine doesn't have it. */
static FILE *run_under(const char *set) {
  char command[4600], line[64];
  snprintf(command, sizeof command, "TOMBOLA_CPU=%s '%s' digest %d", set, program,
           support_long() ? 200000 : 12000);
  FILE *out = popen(command, "r");
  assert_non_null(out);
  if (fgets(line, sizeof line, out)) {
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, set);
    return out;
  }
  assert_int_not_equal(pclose(out), 0);
  return NULL;
}

static void test_same_bits(void **state) {
  (void)state;
  FILE *scalar = run_under("scalar"), *avx2 = run_under("avx2");
  char a[64], b[64];
  size_t lines = 0, refused = 0;
  assert_non_null(scalar);
  if (!avx2) {
    pclose(scalar);
    print_message("this machine has no AVX2\n");
    skip();
  }
  while (fgets(a, sizeof a, scalar) && fgets(b, sizeof b, avx2)) {
    assert_string_equal(a, b);
    refused += strstr(a, " 0000000000000000") != NULL;
    lines++;
  }
  assert_int_equal(pclose(scalar), 0);
  assert_int_equal(pclose(avx2), 0);
  print_message("%zu pairs, %zu of them refused by the dialect\n", lines, refused);
  assert_true(lines >= 12000 && refused < lines / 2);
}

/* A mask of few tokens, with and without its list: the list says where to read, not what. */
static uint64_t digest_few(uint64_t stream, size_t set_index, bool lists) {
  static float row[MAX_ROW];
  static uint16_t half[MAX_ROW];
  uint32_t words[(MAX_ROW + 31) / 32] = {0};
  tombola_token ids[64];
  struct support_rng rng = support_rng(stream);
  size_t count = 64 + support_below(&rng, MAX_ROW - 63), few = 1 + support_below(&rng, 64), n = 0;
  enum tombola_dtype dtype = (enum tombola_dtype)support_below(&rng, 3);
  random_row(&rng, (enum row_shape)support_below(&rng, ROW_SHAPES), row, count);
  if (dtype != TOMBOLA_F32) halve(row, count, dtype, half);
  for (size_t i = 0; i < few; i++) {
    size_t id = support_below(&rng, 4) ? support_below(&rng, count) : count - 1 - support_below(&rng, 64);
    words[id / 32] |= UINT32_C(1) << id % 32;
  }
  for (size_t id = 0; id < count; id++)
    if (words[id / 32] >> id % 32 & 1) ids[n++] = (tombola_token)id;
  struct tombola_row view = {dtype == TOMBOLA_F32 ? (const void *)row : half, count, dtype};
  struct tombola_mask mask = {words, count, lists ? ids : NULL, lists ? n : 0};
  struct chain_params set = parameter_set_for(set_index, count);
  struct tombola_sampler_params params =
      library_params(&set, support_u32(&rng) & 1 ? "llama.cpp" : "rml", support_u32(&rng) >> 1);
  uint64_t digest = 0xcbf29ce484222325u;
  tombola_sampler *sampler = NULL;
  if (tombola_sampler_new(&params, NULL, count, NULL, &sampler, NULL) != TOMBOLA_OK) return 0;
  digest_sampler(sampler, &view, &mask, &digest);
  tombola_sampler_free(sampler);
  return digest;
}

static void test_listed_masks(void **state) {
  (void)state;
  size_t refused = 0, pairs = support_long() ? 20000 : 2000;
  for (size_t i = 0; i < pairs; i++) {
    const uint64_t digest = digest_few(1000 + i, i % parameter_set_count, true);
    assert_true(digest == digest_few(1000 + i, i % parameter_set_count, false));
    refused += digest == 0;
  }
  assert_true(refused < pairs / 2);
}

/* What isn't a list of what the words allow is refused. */
static void test_wrong_lists(void **state) {
  (void)state;
  const float row[4] = {0, 1, 2, 3};
  const uint32_t words = 0xB;
  static const tombola_token lists[][2] = {{0, 2}, {1, 0}, {1, 1}, {-1, 0}, {0, 4}};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, 4, NULL, &sampler, NULL), TOMBOLA_OK);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tombola_token token;
    struct tombola_mask mask = {&words, 4, lists[i], 2};
    assert_int_equal(
        tombola_sampler_sample(sampler, &(struct tombola_row){row, 4, TOMBOLA_F32}, &mask, &token),
        TOMBOLA_INVALID_ARGUMENT);
    assert_string_equal(tombola_sampler_error(sampler)->param, "mask");
  }
  /* A listed token may not be NaN either; what isn't listed may. */
  const float holes[4] = {1, NAN, NAN, 0};
  const uint32_t with = 0xB, without = 0x9;
  static const tombola_token first[] = {0, 1, 3}, second[] = {0, 3};
  tombola_token token;
  struct tombola_row broken = {holes, 4, TOMBOLA_F32};
  assert_int_equal(
      tombola_sampler_sample(sampler, &broken, &(struct tombola_mask){&with, 4, first, 3}, &token),
      TOMBOLA_NOT_FINITE);
  assert_int_equal(
      tombola_sampler_sample(sampler, &broken, &(struct tombola_mask){&without, 4, second, 2}, &token),
      TOMBOLA_OK);
  tombola_sampler_free(sampler);
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc == 3 && strcmp(argv[1], "digest") == 0) return print_digests((size_t)strtoull(argv[2], NULL, 10));
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_listed_masks),
                                     cmocka_unit_test(test_wrong_lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
