/* SPDX-License-Identifier: Apache-2.0 */
/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)) and f = m - 1, exact. With s = f / (2 + f) and z = s^2,
 *   ln m = 2 atanh(s) = 2s + s * R,   R = z * (2/3 + 2/5 z + 2/7 z^2 + 2/9 z^3),
 * where the next term would be below 2e-9 of the whole, since z < 0.0295. As 2s = f - f^2/2 + s * f^2/2, the
 * form f - (f^2/2 - s * (f^2/2 + R)) keeps the leading f without a rounding error (W. Kahan's arrangement, as
 * in 4.3BSD's log1p). ln 2 = HIGH + LOW, and HIGH has so few bits that e * HIGH is exact. */
#include "log.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LN2_HIGH 0x1.62e3p-1f
#define LN2_LOW  0x1.2fefa4p-17f
#define ROOT     0x3F3504F3u /* sqrt(1/2) */
#define ONE      0x3F800000u

#define PLUS_INFINITY 0x7F800000u

float tombola__logf(float x) {
  uint32_t bits, fraction;
  memcpy(&bits, &x, sizeof bits);
  if (bits == 0) return -INFINITY;
  if (bits == PLUS_INFINITY) return INFINITY;
  uint32_t moved = bits + (ONE - ROOT);
  float e = (float)((int32_t)(moved >> 23) - 127);
  fraction = (moved & 0x7FFFFFu) + ROOT;
  float m;
  memcpy(&m, &fraction, sizeof m);
  float f = m - 1.0f;
  float s = f / (2.0f + f);
  float z = s * s;
  float tail = z * (0x1.555556p-1f + z * (0x1.99999ap-2f + z * (0x1.24924ap-2f + z * 0x1.c71c72p-3f)));
  float half = 0.5f * f * f;
  return e * LN2_HIGH - ((half - (s * (half + tail) + e * LN2_LOW)) - f);
}
