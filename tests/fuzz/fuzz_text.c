/* SPDX-License-Identifier: Apache-2.0 */
/* The text pipe: however the same bytes are cut, the same text comes out, whole characters only; nothing is lost when
 * no marker and no stop string is looked for. The input's first bytes choose the settings, the cuts and the stop
 * strings; the rest is the text. */
#include <stdbool.h>
#include <string.h>
#include <tombola/text.h>

#include "fuzz.h"

#define ROOM 8192

struct sink {
  char text[2][ROOM];
  size_t length[2];
};

static int collect(void *context, enum tombola_channel channel, const char *text, size_t length) {
  struct sink *s = context;
  FUZZ_ASSERT(length > 0 && s->length[channel] + length <= ROOM);
  FUZZ_ASSERT(tombola_utf8_whole(text, length) == length);
  memcpy(s->text[channel] + s->length[channel], text, length);
  s->length[channel] += length;
  return 1;
}

static void run(tombola_text *text, const char *bytes, size_t size, const uint8_t *cuts, size_t n_cuts,
                struct sink *sink) {
  memset(sink, 0, sizeof *sink);
  for (size_t at = 0, i = 0; at < size; i++) {
    size_t step = n_cuts ? cuts[i % n_cuts] % 7u : size;
    if (n_cuts && step == 0 && i % n_cuts == 0) step = 1; /* so that it ends */
    if (step > size - at) step = size - at;
    FUZZ_ASSERT(tombola_text_push(text, bytes + at, step, collect, sink) == TOMBOLA_OK);
    at += step;
  }
  FUZZ_ASSERT(tombola_text_finish(text, collect, sink) == TOMBOLA_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct sink once, cut;
  if (size < 12 || size > 2000) return 0;
  struct tombola_bytes stops[2] = {{(const char *)data + 4, 1 + data[1] % 4u},
                                   {(const char *)data + 8, 1 + data[2] % 4u}};
  struct tombola_text_params params = {.struct_size = sizeof params, .stops = stops, .n_stops = data[0] % 3u};
  bool think = data[0] & 4;
  if (think) {
    params.think_open = "<t>";
    params.think_close = "</t>";
  }
  params.starts_in_reasoning = think && (data[0] & 8);
  params.stops_in_reasoning = data[0] >> 4 & 1;
  params.keep_stop = data[0] >> 5 & 1;
  params.keep_newlines = data[0] >> 6 & 1;
  tombola_text *text;
  if (tombola_text_new(&params, NULL, &text, NULL)) return 0;
  const char *bytes = (const char *)data + 12;
  run(text, bytes, size - 12, NULL, 0, &once);
  int stopped = tombola_text_stopped(text);
  tombola_text_reset(text, params.starts_in_reasoning);
  run(text, bytes, size - 12, data, 4, &cut);
  FUZZ_ASSERT(tombola_text_stopped(text) == stopped);
  for (int c = 0; c < 2; c++) {
    FUZZ_ASSERT(once.length[c] == cut.length[c]);
    FUZZ_ASSERT(!memcmp(once.text[c], cut.text[c], once.length[c]));
  }
  if (!think && !params.n_stops && tombola_utf8_whole(bytes, size - 12) == size - 12)
    FUZZ_ASSERT(once.length[TOMBOLA_CONTENT] >= size - 12 && once.length[TOMBOLA_REASONING] == 0);
  tombola_text_free(text);
  return 0;
}
