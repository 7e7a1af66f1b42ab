/* SPDX-License-Identifier: Apache-2.0 */
/* The generators against what their reference engines gave. */
#include "support.h"

#include "random/random.h"

/* Plain memory for two generators, as a sampler would hand out. */
static void *memory, *second;

static int make_memory(void **state) {
  (void)state;
  memory = malloc(tombola__mt19937.state_size);
  second = malloc(tombola__mt19937.state_size);
  return memory && second ? 0 : -1;
}

static int free_memory(void **state) {
  (void)state;
  free(memory);
  free(second);
  return 0;
}

/* ISO C++ [rand.predef]: the 10000th consecutive word of a default-constructed std::mt19937 (seed 5489). */
static void the_ten_thousandth_word(void **state) {
  (void)state;
  tombola__mt19937.seed(memory, 5489);
  uint32_t word = 0;
  for (int i = 0; i < 10000; i++)
    word = tombola__mt19937_next(memory);
  assert_int_equal(word, 4123659995u);
}

/* Recorded from llama.cpp's dist sampler with seed 42. */
static void the_first_draw_of_seed_42(void **state) {
  (void)state;
  tombola__mt19937.seed(memory, 42);
  assert_int_equal(tombola__mt19937_next(memory), 1608637542u);
  assert_int_equal(tombola__mt19937_next(memory), 3421126067u);
  tombola__mt19937.seed(memory, 42);
  assert_true(fabs(tombola__mt19937.uniform(memory) - 0.796542984287846) < 5e-16);
}

static void the_uniform_is_two_words(void **state) {
  (void)state;
  tombola__mt19937.seed(memory, 123);
  tombola__mt19937.seed(second, 123);
  double least = 1.0, most = 0.0;
  for (int i = 0; i < 100000; i++) {
    long double low = tombola__mt19937_next(second), high = tombola__mt19937_next(second);
    double u = tombola__mt19937.uniform(memory);
    assert_true(u == (double)((low + high * 0x1p32L) / 0x1p64L)); /* 64 bits are exact in long double */
    least = u < least ? u : least;
    most = u > most ? u : most;
  }
  assert_true(least >= 0.0 && least < 1e-3 && most < 1.0 && most > 0.999);
}

/* Two words of all ones are 2^64 - 1, which as a double is 2^64, and must still come out below 1. The
 * tempering is a bijection (linear over GF(2)): 0x12DD9BB3 is the one word of the state that it turns into
 * all ones. */
static void the_uniform_stays_below_one(void **state) {
  (void)state;
  tombola__mt19937.seed(memory, 1);
  tombola__mt19937_next(memory); /* the state is now a generation, with its words 1, 2, ... to come */
  uint32_t *words = memory;
  words[1] = words[2] = words[3] = 0x12DD9BB3u;
  assert_int_equal(tombola__mt19937_next(memory), 0xFFFFFFFFu);
  double u = tombola__mt19937.uniform(memory);
  assert_true(u < 1.0 && u == nextafter(1.0, 0.0));
}

static void a_copy_goes_on_alike(void **state) {
  (void)state;
  tombola__mt19937.seed(memory, 7);
  for (int i = 0; i < 1000; i++)
    tombola__mt19937_next(memory);
  memcpy(second, memory, tombola__mt19937.state_size);
  for (int i = 0; i < 2000; i++)
    assert_int_equal(tombola__mt19937_next(memory), tombola__mt19937_next(second));
}

static void seeds_are_the_systems(void **state) {
  (void)state;
  uint64_t a = 0, b = 0;
  assert_int_equal(tombola__random_seed(&a), 1);
  assert_int_equal(tombola__random_seed(&b), 1);
  assert_true(a != b); /* equal by chance once in 2^64 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_ten_thousandth_word),  cmocka_unit_test(the_first_draw_of_seed_42),
      cmocka_unit_test(the_uniform_is_two_words), cmocka_unit_test(the_uniform_stays_below_one),
      cmocka_unit_test(a_copy_goes_on_alike),     cmocka_unit_test(seeds_are_the_systems),
  };
  return cmocka_run_group_tests(tests, make_memory, free_memory);
}
