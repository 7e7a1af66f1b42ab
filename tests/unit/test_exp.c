/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned exponential and the conversions: against long double, over a stride through all floats, and the
 * same bits from each instruction set. */
#include "support.h"

#include "kernels/kernels.h"

#include <float.h>
#include <stdio.h>

static const char *const set_names[] = {"scalar", "avx2"};

/* A stride through the bit patterns that meets every exponent and is odd, so that low bits vary. */
static uint32_t stride(void) {
  return support_long() ? 101 : 4999;
}

static void exp_is_within_one_ulp(void **state) {
  (void)state;
  double worst = 0.0;
  float worst_at = 0.0f;
  for (uint64_t bits = 0x80000000u; bits <= support_bits(-87.33f); bits += stride()) {
    float x = support_from_bits((uint32_t)bits);
    double error = support_ulp_error(tombola__exp(x), expl((long double)x));
    if (error > worst) worst_at = x;
    if (error > worst) worst = error;
  }
  fprintf(stderr, "largest error of exp: %.4f ulp, at %a\n", worst, (double)worst_at);
  assert_true(worst < 1.0);
  assert_true(worst > 0.5); /* a correctly rounded one would say that the measure is broken */
}

/* Where reduction goes from one multiple of ln 2 to the next, the remainder is largest. */
static void exp_is_within_one_ulp_at_the_seams(void **state) {
  (void)state;
  for (int n = 0; n < 126; n++) {
    float x = -(float)((n + 0.5) * 0.69314718055994530942);
    for (int i = 0; i < 200; i++)
      x = nextafterf(x, 0.0f);
    for (int i = 0; i < 400; i++, x = nextafterf(x, -FLT_MAX))
      assert_true(support_ulp_error(tombola__exp(x), expl((long double)x)) < 1.0);
  }
}

static void exp_has_exact_ends(void **state) {
  (void)state;
  assert_same_bits(tombola__exp(0.0f), 1.0f);
  assert_same_bits(tombola__exp(-0.0f), 1.0f);
  assert_same_bits(tombola__exp(-FLT_TRUE_MIN), 1.0f);
  assert_same_bits(tombola__exp(-INFINITY), 0.0f);
  assert_same_bits(tombola__exp(-FLT_MAX), 0.0f);
  assert_same_bits(tombola__exp(nextafterf(-87.33f, -100.0f)), 0.0f);
  assert_true(tombola__exp(-87.33f) >= FLT_MIN);
  assert_same_bits(tombola__exp(NAN), 0.0f);
  assert_same_bits(tombola__exp(-NAN), 0.0f);
}

/* Through the kernels, where (x - 0) * 1 is x: the floats of [first, last] by their bits, up to 88 and NaN.
 */
static void check_same_bits(const struct tombola__kernels *kernels, uint64_t first, uint64_t last,
                            uint32_t step) {
  float x[TOMBOLA__BLOCK], weights[TOMBOLA__BLOCK];
  size_t n = 0;
  for (uint64_t bits = first; bits <= last; bits += step) {
    float value = support_from_bits((uint32_t)bits);
    if (value > 88.0f) continue;
    x[n++] = value;
    if (n < TOMBOLA__BLOCK) continue;
    n = 0;
    kernels->expsum64(x, 0.0f, 1.0f, weights);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      if (support_bits(weights[i]) != support_bits(tombola__exp(x[i])))
        fail_msg("%s: exp(%a) is %a, not %a", kernels->name, (double)x[i], (double)weights[i],
                 (double)tombola__exp(x[i]));
  }
}

/* All of them coarsely, those with a result above 0 more finely, and each float of a stretch in which the
 * remainder is largest: only there does one operation that isn't fused show in the last bit. */
static void exp_has_the_same_bits_everywhere(void **state) {
  (void)state;
  for (size_t s = 0; s < 2; s++) {
    const struct tombola__kernels *kernels = tombola__kernels_find(set_names[s]);
    if (!kernels) continue;
    check_same_bits(kernels, 0, UINT32_MAX, stride());
    check_same_bits(kernels, support_bits(-0x1p-6f), support_bits(-87.33f), support_long() ? 11 : 199);
    check_same_bits(kernels, support_bits(-0.32f), support_bits(-0.3466f), 1);
  }
}

/* ---- conversions ---- */

/* IEEE 754 binary16 by its definition. */
static double half_value(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return fraction ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0) return sign * ldexp(fraction, -24);
  return sign * ldexp(1024 + fraction, exponent - 25);
}

static double bfloat_value(uint16_t bits) {
  int exponent = bits >> 7 & 255, fraction = bits & 127;
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 255) return fraction ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0) return sign * ldexp(fraction, -133);
  return sign * ldexp(128 + fraction, exponent - 134);
}

static void every_half_and_bfloat_converts(void **state) {
  (void)state;
  for (uint32_t code = 0; code < 65536; code++) {
    float half = tombola__f16_to_f32((uint16_t)code), bfloat = tombola__bf16_to_f32((uint16_t)code);
    double want_half = half_value((uint16_t)code), want_bfloat = bfloat_value((uint16_t)code);
    assert_true(isnan(want_half) ? isnan(half) : (double)half == want_half);
    assert_true(isnan(want_bfloat) ? isnan(bfloat) : (double)bfloat == want_bfloat);
    assert_int_equal(signbit(half) != 0, code >> 15);
    assert_int_equal(signbit(bfloat) != 0, code >> 15);
  }
}

/* All 65536 codes as a row; NaNs must come out with the same bits too. */
static void every_set_converts_alike(void **state) {
  (void)state;
  static uint16_t codes[65536];
  for (uint32_t code = 0; code < 65536; code++)
    codes[code] = (uint16_t)code;
  for (size_t s = 0; s < 2; s++) {
    const struct tombola__kernels *kernels = tombola__kernels_find(set_names[s]);
    if (!kernels) continue;
    for (size_t b = 0; b < 65536 / TOMBOLA__BLOCK; b++) {
      float half[TOMBOLA__BLOCK], bfloat[TOMBOLA__BLOCK];
      kernels->load64(&(struct tombola_row){codes, 65536, TOMBOLA_F16}, NULL, b, half);
      kernels->load64(&(struct tombola_row){codes, 65536, TOMBOLA_BF16}, NULL, b, bfloat);
      for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
        uint16_t code = (uint16_t)(b * TOMBOLA__BLOCK + i);
        assert_same_bits(half[i], tombola__f16_to_f32(code));
        assert_same_bits(bfloat[i], tombola__bf16_to_f32(code));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exp_is_within_one_ulp),
      cmocka_unit_test(exp_is_within_one_ulp_at_the_seams),
      cmocka_unit_test(exp_has_exact_ends),
      cmocka_unit_test(exp_has_the_same_bits_everywhere),
      cmocka_unit_test(every_half_and_bfloat_converts),
      cmocka_unit_test(every_set_converts_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
