/* SPDX-License-Identifier: Apache-2.0 */
/* What can't come where a machine is, seen without reading: bounds from above, which spare walks. */
#ifndef TOMBOLA_OUTLOOK_H
#define TOMBOLA_OUTLOOK_H

#include "constraint/machine/machine.h"

struct tombola__outlook {
  uint32_t bytes[8]; /* bits: no other byte can be read */
  uint32_t
      most; /* no more than so many characters of the set of struct tombola__freedom, which is one of characters
                        of a JSON string, can follow each other; TOMBOLA__LANG_UNBOUNDED: not known */
};

void tombola__machine_outlook(struct tombola__machine *m, struct tombola__outlook *out);

#endif
