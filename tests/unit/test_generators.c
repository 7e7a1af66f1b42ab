/* SPDX-License-Identifier: Apache-2.0 */
/* Every generator against vectors that don't come from this code: Random123's known answers, rand's and
 * ChaCha's own, and streams recorded or recomputed from the engines that a dialect follows. */
#include "support.h"

#include "random/random.h"

#define PI_WORDS \
  { 0x243F6A88u, 0x85A308D3u, 0x13198A2Eu, 0x03707344u }

static uint64_t memory[1024], second[1024]; /* room for any state */

static const struct tombola__generator *const generators[] = {
    &tombola__mt19937,  &tombola__pcg32,  &tombola__chacha12,
    &tombola__threefry, &tombola__philox, &tombola__counter,
};
#define GENERATORS (sizeof generators / sizeof *generators)

struct stream {
  uint64_t seed;
  uint32_t words[8];
  double uniforms[8]; /* nine digits */
};

static void check_streams(const struct tombola__generator *generator, uint32_t (*next)(void *),
                          const struct stream *streams, size_t n) {
  for (size_t s = 0; s < n; s++) {
    generator->seed(memory, streams[s].seed);
    for (int i = 0; i < 8; i++)
      assert_int_equal(next(memory), streams[s].words[i]);
    generator->seed(memory, streams[s].seed);
    for (int i = 0; i < 8; i++)
      assert_true(fabs(generator->uniform(memory) - streams[s].uniforms[i]) <= 5.1e-10);
  }
}

static void pcg32_is_rmlx(void **state) {
  (void)state;
  static const struct stream streams[] = {
      {0xA7A7,
       {0x2E57EAE9, 0x10801D59, 0x547AD4A1, 0x14F77F76, 0x9C758980, 0xA5FE3DAF, 0x57CA7E67, 0x0D3D45E1},
       {0.181028962, 0.0644548535, 0.329999208, 0.0819014907, 0.611168444, 0.648410618, 0.342933536,
        0.0517161489}},
      {0,
       {0x7FA8E5D1, 0x99FDA600, 0xED8B47B2, 0x0997DEC8, 0xCEE5161C, 0x79D34724, 0xE04BC84A, 0x9D0A9695},
       {0.498670876, 0.601526618, 0.927906454, 0.0374735594, 0.808183074, 0.475880086, 0.87615633,
        0.613442779}},
      {1,
       {0x5B771A91, 0x88ABE20E, 0x9715BBFA, 0xB67CE7A0, 0xF391E04A, 0x4F3B7616, 0xAE76A6D0, 0xF9213232},
       {0.357286096, 0.533872724, 0.590175331, 0.712843359, 0.951444626, 0.309501052, 0.681497931,
        0.97316277}},
      {42,
       {0x637FB995, 0x71178965, 0x1C8CD136, 0xC72DDB41, 0xD1D6988A, 0x62A57D51, 0x8BBB919C, 0xC3A7B579},
       {0.388667643, 0.441765368, 0.111523688, 0.778043449, 0.819680691, 0.385337651, 0.545830786,
        0.764277756}},
      {7,
       {0x5464BB08, 0xFA77AAF0, 0x671985A6, 0x5262483F, 0x8924CC6D, 0x3C730BFF, 0x272D8462, 0x97D2C85E},
       {0.329662025, 0.978388429, 0.402733147, 0.321812153, 0.535717726, 0.236130416, 0.153038263,
        0.593060017}},
  };
  check_streams(&tombola__pcg32, tombola__pcg32_next, streams, sizeof streams / sizeof *streams);
  tombola__pcg32.seed(memory, 42);
  assert_true(memory[0] == UINT64_C(0x43FDDC546B6FCA1C));
  tombola__pcg32.seed(memory, 0xA7A7);
  assert_true(memory[0] == UINT64_C(0xDA4BA36856653E15));
}

static void chacha12_is_rand_08(void **state) {
  (void)state;
  static const struct stream streams[] = {
      {42,
       {0x222724A2, 0x86CC7763, 0x3FAD517D, 0x8AF00A13, 0xDE5134D1, 0xA2EF6071, 0xFD7630B2, 0x67E92D78},
       {0.133409739, 0.526557386, 0.248738348, 0.542725205, 0.868426561, 0.636465073, 0.990084648,
        0.40590173}},
      {0,
       {0xCD2C6F7F, 0xBB2A3FB2, 0x8E27697B, 0xC6017C94, 0xCF310A16, 0x069DC102, 0xABE5F6D0, 0x958B761D},
       {0.801459253, 0.731113374, 0.555288851, 0.77346015, 0.809342027, 0.0258446336, 0.671477675,
        0.584159255}},
      {1,
       {0xD3301861, 0xF9681A64, 0xCC0D694A, 0xB0F4D125, 0x3248C9DA, 0x6D8FC15A, 0x376425D3, 0x2CF33517},
       {0.824952602, 0.974244714, 0.797079623, 0.691235602, 0.196423113, 0.427974761, 0.216371834,
        0.175586045}},
      {7,
       {0x6AA8FBBE, 0x07C2E0E9, 0x247E5F86, 0x4E9D34E8, 0x0F8BBCCD, 0x24843246, 0xA6DFA099, 0x8AE26805},
       {0.416640937, 0.0303173065, 0.14255327, 0.307086229, 0.0607259274, 0.14264214, 0.651849747,
        0.542517185}},
  };
  check_streams(&tombola__chacha12, tombola__chacha12_next, streams, sizeof streams / sizeof *streams);
}

/* The key that rand's own test of StdRng uses, and the word that it expects; the key stream of ChaCha20 with
 * a key of zeros (RFC 8439, A.1). The counter's high word counts too. */
static void chacha_blocks(void **state) {
  (void)state;
  static const uint32_t rand_key[8] = {1, 23, 456, 7890}, zeros[8] = {0};
  uint32_t block[16], other[16];
  tombola__chacha_block(rand_key, 0, 12, block);
  assert_true(((uint64_t)block[1] << 32 | block[0]) == UINT64_C(10719222850664546238));
  tombola__chacha_block(zeros, 0, 20, block);
  assert_int_equal(block[0], 0xADE0B876u);
  assert_int_equal(block[1], 0x903DF1A0u);
  assert_int_equal(block[15], 0x8665EEB2u);
  tombola__chacha_block(zeros, UINT64_C(1) << 32, 20, other);
  assert_memory_not_equal(block, other, sizeof block);
}

/* The words of one seed are those of blocks 0, 1, 2, ... of one key. */
static void chacha12_goes_from_block_to_block(void **state) {
  (void)state;
  tombola__chacha12.seed(memory, 42);
  tombola__chacha12.seed(second, 42);
  static const uint32_t key[8] = {0x7BA18FA4, 0x0A3D3258, 0xCCA1B8EA, 0xB8140169,
                                  0x75C88C2B, 0x54F7B418, 0xA16E448D, 0xF220DFE4};
  for (uint64_t b = 0; b < 5; b++) {
    uint32_t block[16];
    tombola__chacha_block(key, b, 12, block);
    for (int i = 0; i < 16; i++)
      assert_int_equal(tombola__chacha12_next(memory), block[i]);
  }
}

/* Random123's kat_vectors. */
static void philox_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } kats[] = {
      {{0}, {0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
      {PI_WORDS, {0xA4093822, 0x299F31D0}, {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}},
  };
  for (size_t i = 0; i < sizeof kats / sizeof *kats; i++) {
    uint32_t out[4];
    tombola__philox4x32(kats[i].key, kats[i].counter, out);
    assert_memory_equal(out, kats[i].out, sizeof out);
  }
}

static void threefry_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[2], key[2], out[2];
  } kats[] = {
      {{0}, {0}, {0x6B200159, 0x99BA4EFE}},
      {{~0u, ~0u}, {~0u, ~0u}, {0x1CB996FC, 0xBB002BE7}},
      {{0x243F6A88, 0x85A308D3}, {0x13198A2E, 0x03707344}, {0xC4923A9C, 0x483DF7A0}},
  };
  for (size_t i = 0; i < sizeof kats / sizeof *kats; i++) {
    uint32_t out[2];
    tombola__threefry2x32(kats[i].key, kats[i].counter, out);
    assert_memory_equal(out, kats[i].out, sizeof out);
  }
}

/* mlxcel's words of row 0, for the keys 0 and 42. */
static void philox_noise_is_mlxcels(void **state) {
  (void)state;
  static const struct {
    uint32_t key;
    double u[4];
  } rows[] = {{0, {0.399046481, 0.880520165, 0.735712826, 0.605481803}},
              {42, {0.250688016, 0.0369867682, 0.639132082, 0.632379234}}};
  for (size_t r = 0; r < 2; r++) {
    struct tombola__noise_key key = {.key = {0, rows[r].key}};
    for (size_t id = 0; id < 4; id++) {
      uint32_t word = tombola__noise_philox.word(&key, 10, id);
      assert_true(fabs((double)tombola__noise_philox.uniform(word) - rows[r].u[id]) <= 5.1e-10);
    }
  }
  assert_true(tombola__noise_philox.uniform(0) == 0x1p-24f);
  assert_true(tombola__noise_philox.uniform(UINT32_MAX) == 1.0f - 0x1p-24f);
}

/* Recorded from mlx 0.32.4: the two halves of key 7, and its uniforms of eight. */
static void threefry_is_mlxs(void **state) {
  (void)state;
  static const uint32_t seven[2] = {0, 7};
  uint32_t next[2], own[2];
  tombola__threefry_split(seven, next, own);
  assert_int_equal(next[0], 966301609u);
  assert_int_equal(next[1], 989289821u);
  assert_int_equal(own[0], 1948237315u);
  assert_int_equal(own[1], 1058547403u);
  static const float uniforms[8] = {0.01193894f, 0.37924138f, 0.3353784f, 0.09217995f,
                                    0.71907127f, 0.9992443f,  0.8688327f, 0.86277384f};
  struct tombola__noise_key key = {.key = {0, 7}};
  for (size_t i = 0; i < 8; i++) {
    uint32_t word = tombola__noise_threefry.word(&key, 8, i);
    assert_true(fabsf(tombola__noise_threefry.uniform(word) - uniforms[i]) <= 6e-8f);
  }
  assert_true(tombola__noise_threefry.uniform(UINT32_MAX) == nextafterf(1, 0));
  assert_true(tombola__noise_threefry.uniform(0) == 0.0f);
}

/* Recorded from mlx 0.32.4: key 7's uniforms of arrays with odd and even counts, and what four calls of
 * uniform() give after a seed. */
static void threefry_by_count_and_call(void **state) {
  (void)state;
  static const struct {
    size_t count;
    float uniforms[9];
  } arrays[] = {
      {1, {0x1.b02ecap-1f}},
      {5, {0x1.07b934p-4f, 0x1.9b04a2p-3f, 0x1.4d08fep-1f, 0x1.877358p-2f, 0x1.59d052p-1f}},
      {6, {0x1.07b934p-4f, 0x1.9b04a2p-3f, 0x1.c65e72p-2f, 0x1.877358p-2f, 0x1.59d052p-1f, 0x1.4e6ed6p-2f}},
      {9,
       {0x1.ab22fcp-1f, 0x1.f95632p-3f, 0x1.143b26p-2f, 0x1.a9a284p-1f, 0x1.2a4b0ap-1f, 0x1.d05796p-2f,
        0x1.cc0a00p-3f, 0x1.5e0072p-1f, 0x1.606416p-1f}},
  };
  struct tombola__noise_key key = {.key = {0, 7}};
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
    for (size_t i = 0; i < arrays[a].count; i++)
      assert_true(tombola__noise_threefry.uniform(tombola__noise_threefry.word(&key, arrays[a].count, i)) ==
                  arrays[a].uniforms[i]);
  static const struct {
    uint64_t seed;
    double uniforms[4];
  } calls[] = {{1234, {0x1.7db128p-1, 0x1.fae11ep-1, 0x1.0b76fep-4, 0x1.d65714p-2}},
               {UINT64_C(5) << 32 | 9, {0x1.372226p-4, 0x1.feb0ccp-1, 0x1.75fc44p-1, 0x1.c7b490p-2}}};
  for (size_t c = 0; c < 2; c++) {
    tombola__threefry.seed(memory, calls[c].seed);
    tombola__philox.seed(second, calls[c].seed);
    for (int i = 0; i < 4; i++) {
      assert_true(tombola__threefry.uniform(memory) == calls[c].uniforms[i]);
      assert_true(tombola__philox.uniform(second) == calls[c].uniforms[i]);
    }
  }
}

/* A row's words come alike one by one and 64 at a time, and no two tokens share one. */
static void noise_is_by_id(void **state) {
  (void)state;
  static const struct tombola__noise *const noises[] = {&tombola__noise_philox, &tombola__noise_threefry};
  static const size_t counts[] = {1, 2, 63, 64, 65, 1000, 1001};
  struct tombola__noise_key key = {.key = {11, 12}, .counter = {1, 2, 3}};
  for (size_t n = 0; n < 2; n++) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      uint32_t before = 0;
      for (size_t first = 0; first < counts[c]; first += 64) {
        uint32_t words[64];
        noises[n]->words64(&key, counts[c], first, words);
        for (size_t i = 0; i < 64 && first + i < counts[c]; i++) {
          assert_int_equal(words[i], noises[n]->word(&key, counts[c], first + i));
          assert_int_not_equal(words[i], before);
          before = words[i];
        }
      }
    }
  }
}

/* The counter's uniforms depend on the seed, the request, the step and the stage, and on nothing that
 * happened before: neither a stage nor another request moves them. */
static void the_counter_is_keyed(void **state) {
  (void)state;
  const struct tombola__generator *g = &tombola__counter;
  uint32_t xtc = tombola__stage_stream("xtc"), other = tombola__stage_stream("adaptive_p");
  assert_int_not_equal(xtc, other);
  g->seed(memory, UINT64_C(0x123456789ABCDEF));
  g->seed(second, UINT64_C(0x123456789ABCDEF));
  double first = g->uniform(memory), next = g->uniform(memory);
  assert_true(first != next);
  g->next_step(memory);
  double later = g->uniform(memory);
  for (int i = 0; i < 10; i++)
    assert_true(g->stage_uniform(second, xtc) != g->stage_uniform(second, other));
  assert_true(g->uniform(second) == first);
  g->next_step(second); /* the second uniform wasn't asked for, and the next step is the same all the same */
  assert_true(g->uniform(second) == later);

  double by_request[4];
  for (uint32_t r = 0; r < 4; r++) {
    g->seed(memory, 1);
    g->request(memory, r);
    by_request[r] = g->uniform(memory);
    for (uint32_t q = 0; q < r; q++)
      assert_true(by_request[q] != by_request[r]);
  }
  g->seed(memory, 1);
  assert_true(g->uniform(memory) == by_request[0]);
  g->seed(memory, UINT64_C(1) << 32 | 1);
  assert_true(g->uniform(memory) != by_request[0]);
}

/* What every generator promises. */
static void all_of_them(void **state) {
  (void)state;
  for (size_t i = 0; i < GENERATORS; i++) {
    const struct tombola__generator *g = generators[i];
    assert_true(g->state_size <= sizeof memory);
    g->seed(memory, 99);
    g->seed(second, 98);
    assert_true(g->uniform(memory) != g->uniform(second));
    double sum = 0, squares = 0;
    for (int n = 0; n < 100000; n++) {
      double u = g->uniform(memory);
      assert_true(u >= 0 && u < 1);
      sum += u;
      squares += u * u;
    }
    assert_true(fabs(sum / 1e5 - 0.5) < 5 * 0.2887 / sqrt(1e5)); /* five standard errors */
    assert_true(fabs(squares / 1e5 - 1.0 / 3) < 5 * 0.2981 / sqrt(1e5));
    struct tombola__noise_key a, b;
    memcpy(second, memory, g->state_size);
    g->key(memory, &a);
    g->key(second, &b);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_equal(memory, second, g->state_size);
    if (g->next_step) g->next_step(memory);
    g->key(memory, &b);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_non_null(g->noise);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pcg32_is_rmlx),
      cmocka_unit_test(chacha12_is_rand_08),
      cmocka_unit_test(chacha_blocks),
      cmocka_unit_test(chacha12_goes_from_block_to_block),
      cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(threefry_known_answers),
      cmocka_unit_test(philox_noise_is_mlxcels),
      cmocka_unit_test(threefry_is_mlxs),
      cmocka_unit_test(threefry_by_count_and_call),
      cmocka_unit_test(noise_is_by_id),
      cmocka_unit_test(the_counter_is_keyed),
      cmocka_unit_test(all_of_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
