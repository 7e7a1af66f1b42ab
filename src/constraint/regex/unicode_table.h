/* SPDX-License-Identifier: Apache-2.0 */
/* What each code point is: runs of code points that are alike. */
#ifndef TOMBOLA_UNICODE_TABLE_H
#define TOMBOLA_UNICODE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Each run begins at run >> 7 and ends where the next begins. Below: the general category (0 to 29: Lu Ll Lt Lm Lo Mn
 * Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn), then a bit for Uppercase, one for
 * Lowercase. */
#define TOMBOLA__UNICODE_UPPERCASE 0x20u
#define TOMBOLA__UNICODE_LOWERCASE 0x40u

extern const size_t tombola__unicode_n_runs;
extern const uint32_t tombola__unicode_runs[];

#endif
