/* SPDX-License-Identifier: Apache-2.0 */
/* What cmocka lacks and several tests need: seeded data, guarded buffers, an allocator that counts and fails
 * on demand, comparison of floats, and the chi-square test. Include this one; everything is static inline. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator.h"
#include "chi_square.h"
#include "compare.h"
#include "guard.h"
#include "rng.h"

#endif
