/* SPDX-License-Identifier: Apache-2.0 */
/* The core in one include. The session layer has headers of its own: <tombola/model.h>, <tombola/session.h>.
 */
#ifndef TOMBOLA_H
#define TOMBOLA_H

#include <tombola/sampler.h>
#include <tombola/stage.h>
#include <tombola/status.h>
#include <tombola/text.h>
#include <tombola/trace.h>
#include <tombola/vocabulary.h>

#endif
