/* SPDX-License-Identifier: Apache-2.0 */
/* The pipe. Bytes go through three steps, each of which passes on what it is sure of:
 *   markers     cut out, they switch the channel
 *   stop strings end the text
 *   UTF-8       only whole characters leave
 * Stop strings are found on bytes in front of the UTF-8 step, so that they need not be valid UTF-8
 * themselves. */
#include <string.h>

#include "automaton.h"

#define FIRST_ROOM    1024
#define MOST_NEWLINES 16 /* held back in front of a closing marker; a longer run shows */

struct tombola_text {
  struct tombola_allocator allocator;
  bool has_stops, has_markers;
  bool at_piece_end, in_reasoning, keep_stop, pieces_rule, keep_newlines;
  struct tombola__automaton stops, markers;

  enum tombola_channel channel; /* that is open */
  uint16_t marker_state, stop_state;
  bool skip_newlines; /* right behind a marker */
  char newlines[MOST_NEWLINES];
  size_t n_newlines; /* of the reasoning, held back: a closing marker may follow */
  int stopped;       /* index of the stop string, or -1 */
  struct tombola_utf8 utf8;

  char *out; /* whole characters of `out_channel` on their way to the caller */
  size_t length, room;
  enum tombola_channel out_channel;
  tombola_piece_fn piece;
  void *context;
  enum tombola_status status; /* of this push */
};

/* ---- out ---- */

static void flush(struct tombola_text *t) {
  if (t->length && t->piece && !t->status && !t->piece(t->context, t->out_channel, t->out, t->length))
    t->status = TOMBOLA_CANCELLED;
  t->length = 0;
}

static bool make_room(struct tombola_text *t, size_t more) {
  if (t->length + more <= t->room) return true;
  size_t room = 2 * t->room > t->length + more ? 2 * t->room : t->length + more;
  char *out = tombola__resize(&t->allocator, t->out, t->room, room, 1);
  if (!out) {
    t->status = TOMBOLA_NO_MEMORY;
    return false;
  }
  t->out = out;
  t->room = room;
  return true;
}

/* Characters that were cut by a switch of the channel don't come together again. */
static void switch_out(struct tombola_text *t, enum tombola_channel channel) {
  if (t->out_channel == channel) return;
  if (make_room(t, 3)) t->length += tombola_utf8_finish(&t->utf8, t->out + t->length);
  flush(t);
  t->out_channel = channel;
}

static void put(struct tombola_text *t, const char *bytes, size_t n) {
  if (!n) return;
  switch_out(t, t->channel);
  if (make_room(t, TOMBOLA_UTF8_ROOM(n)))
    t->length += tombola_utf8_push(&t->utf8, bytes, n, t->out + t->length);
}

/* ---- stop strings ---- */

static bool looks_for_stops(const struct tombola_text *t) {
  return t->has_stops && (t->channel == TOMBOLA_CONTENT || t->in_reasoning);
}

/* Lets go of what is held back for a stop string. */
static void release_stop(struct tombola_text *t) {
  const struct tombola__automaton *a = &t->stops;
  if (t->stop_state) put(t, a->text + a->text_at[t->stop_state], a->depth[t->stop_state]);
  t->stop_state = 0;
}

/* The end: of the stop string's `length` bytes, `fresh` come from this step, the others are held back. An
 * unfinished character in front of it is dropped: what would have finished it is gone. */
static void stop_here(struct tombola_text *t, uint16_t from, uint16_t to, char byte) {
  const struct tombola__automaton *a = &t->stops;
  size_t held = a->depth[from], length = a->length[to];
  size_t in_front = held + 1 - length;
  const char *text = a->text + a->text_at[from];
  put(t, text, t->keep_stop ? held : in_front);
  if (t->keep_stop) put(t, &byte, 1);
  t->stopped = a->pattern[to];
  t->stop_state = 0;
  t->utf8 = (struct tombola_utf8){.count = 0};
}

static void stop_step(struct tombola_text *t, char byte) {
  const struct tombola__automaton *a = &t->stops;
  uint16_t from = t->stop_state, to = tombola__automaton_step(a, from, byte);
  if (a->length[to]) {
    stop_here(t, from, to, byte);
    return;
  }
  size_t held = a->depth[from], still = a->depth[to], leaves = held + 1 - still;
  const char *text = a->text + a->text_at[from];
  put(t, text, leaves < held ? leaves : held);
  if (leaves > held) put(t, &byte, 1);
  t->stop_state = to;
}

/* Bytes that are surely text of the open channel. */
static void text_bytes(struct tombola_text *t, const char *bytes, size_t n) {
  if (!looks_for_stops(t) || t->at_piece_end) {
    if (t->stopped < 0) put(t, bytes, n);
    return;
  }
  for (size_t i = 0; i < n && t->stopped < 0; i++)
    stop_step(t, bytes[i]);
}

/* ---- line ends next to markers ---- */

static void release_newlines(struct tombola_text *t) {
  size_t n = t->n_newlines;
  t->n_newlines = 0;
  text_bytes(t, t->newlines, n);
}

static void channel_byte(struct tombola_text *t, char byte) {
  bool newline = (byte == '\n' || byte == '\r') && t->has_markers && !t->keep_newlines;
  if (newline && t->skip_newlines) return;
  t->skip_newlines = false;
  if (newline && t->channel == TOMBOLA_REASONING) {
    if (t->n_newlines == MOST_NEWLINES) release_newlines(t);
    t->newlines[t->n_newlines++] = byte;
    return;
  }
  if (t->n_newlines) release_newlines(t);
  text_bytes(t, &byte, 1);
}

static void channel_bytes(struct tombola_text *t, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    channel_byte(t, bytes[i]);
}

/* ---- markers ---- */

static void marker_found(struct tombola_text *t, size_t which) {
  enum tombola_channel channel = which == 0 ? TOMBOLA_REASONING : TOMBOLA_CONTENT;
  if (channel == TOMBOLA_CONTENT && t->channel == TOMBOLA_REASONING)
    t->n_newlines = 0;
  else
    release_newlines(t);
  if (!t->at_piece_end) release_stop(t);
  t->channel = channel;
  t->skip_newlines = true;
}

static void marker_step(struct tombola_text *t, char byte) {
  const struct tombola__automaton *a = &t->markers;
  uint16_t from = t->marker_state, to = tombola__automaton_step(a, from, byte);
  size_t held = a->depth[from];
  size_t stays = a->length[to] ? a->length[to] : a->depth[to];
  size_t leaves = held + 1 - stays;
  channel_bytes(t, a->text + a->text_at[from], leaves < held ? leaves : held);
  if (leaves > held) channel_byte(t, byte);
  t->marker_state = a->length[to] ? 0 : to;
  if (a->length[to]) marker_found(t, a->pattern[to]);
}

/* rMLX: markers count only whole and inside a piece; what is left of the piece goes where its end is. */
static void piece_by_rule(struct tombola_text *t, const char *bytes, size_t n) {
  const struct tombola__automaton *a = &t->markers;
  enum tombola_channel last = t->channel;
  uint16_t state = 0;
  for (size_t i = 0; i < n; i++) {
    state = tombola__automaton_step(a, state, bytes[i]);
    if (!a->length[state]) continue;
    last = a->pattern[state] == 0 ? TOMBOLA_REASONING : TOMBOLA_CONTENT;
    state = 0;
  }
  if (last != t->channel) release_stop(t);
  t->channel = last;
  state = 0;
  for (size_t i = 0; i < n; i++) {
    uint16_t from = state;
    state = tombola__automaton_step(a, from, bytes[i]);
    size_t held = a->depth[from], stays = a->length[state] ? a->length[state] : a->depth[state];
    size_t leaves = held + 1 - stays;
    text_bytes(t, a->text + a->text_at[from], leaves < held ? leaves : held);
    if (leaves > held) text_bytes(t, &bytes[i], 1);
    if (a->length[state]) state = 0;
  }
  text_bytes(t, a->text + a->text_at[state], a->depth[state]);
}

/* ---- minfer's stop rule ---- */

/* A stop string counts where the piece ends. The piece's text is in the buffer, not yet given out: it is cut
 * where the stop string begins, and what had gone out before stays out. Needs the bytes as they came. */
static void stop_at_end(struct tombola_text *t, const char *bytes, size_t n) {
  const struct tombola__automaton *a = &t->stops;
  if (!looks_for_stops(t)) return;
  for (size_t i = 0; i < n; i++)
    t->stop_state = tombola__automaton_step(a, t->stop_state, bytes[i]);
  size_t length = a->length[t->stop_state];
  if (!length) return;
  t->stopped = a->pattern[t->stop_state];
  if (t->keep_stop) return;
  size_t held = t->utf8.count; /* bytes of the stop string that the buffer doesn't hold yet */
  t->utf8.count = 0;
  length = length > held ? length - held : 0;
  t->length = t->length > length ? tombola_utf8_whole(t->out, t->length - length) : 0;
}

/* ---- the calls ---- */

static enum tombola_status set_markers(struct tombola_text *t, const struct tombola_text_params *p,
                                       struct tombola_error *error) {
  if (!p->think_open != !p->think_close)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "think_close",
                         "think_open and think_close go together");
  if (!p->think_open) return TOMBOLA_OK;
  if (!strcmp(p->think_open, p->think_close))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "think_close",
                         "think_open and think_close are the same");
  struct tombola_bytes markers[2] = {{p->think_open, strlen(p->think_open)},
                                     {p->think_close, strlen(p->think_close)}};
  enum tombola_status status =
      tombola__automaton_new(&t->markers, markers, 2, "think_open", &t->allocator, error);
  t->has_markers = !status;
  return status;
}

static enum tombola_status fill_in(struct tombola_text *t, const struct tombola_text_params *p,
                                   struct tombola_error *error) {
  t->at_piece_end = p->stops_at_piece_end;
  t->in_reasoning = p->stops_in_reasoning;
  t->keep_stop = p->keep_stop;
  t->pieces_rule = p->marker_rule_of_pieces;
  t->keep_newlines = p->keep_newlines;
  enum tombola_status status = set_markers(t, p, error);
  if (!status && p->n_stops) {
    status = tombola__automaton_new(&t->stops, p->stops, p->n_stops, "stop", &t->allocator, error);
    t->has_stops = !status;
  }
  if (status) return status;
  t->out = tombola__new(&t->allocator, FIRST_ROOM, 1);
  t->room = FIRST_ROOM;
  tombola_text_reset(t, p->starts_in_reasoning);
  return t->out ? TOMBOLA_OK : tombola__no_memory(error);
}

enum tombola_status tombola_text_new(const struct tombola_text_params *params,
                                     const struct tombola_allocator *allocator, tombola_text **out,
                                     struct tombola_error *error) {
  struct tombola_text_params whole = {.struct_size = sizeof whole};
  struct tombola_allocator own = tombola__allocator(allocator);
  *out = NULL;
  if (params) memcpy(&whole, params, params->struct_size < sizeof whole ? params->struct_size : sizeof whole);
  struct tombola_text *t = tombola__new(&own, 1, sizeof *t);
  if (!t) return tombola__no_memory(error);
  t->allocator = own;
  enum tombola_status status = fill_in(t, &whole, error);
  if (status)
    tombola_text_free(t);
  else
    *out = t;
  return status;
}

void tombola_text_free(tombola_text *text) {
  if (!text) return;
  struct tombola_allocator own = text->allocator;
  if (text->has_stops) tombola__automaton_free(&text->stops);
  if (text->has_markers) tombola__automaton_free(&text->markers);
  tombola__free(&own, text->out);
  tombola__free(&own, text);
}

void tombola_text_reset(tombola_text *text, int starts_in_reasoning) {
  text->channel = text->out_channel = starts_in_reasoning ? TOMBOLA_REASONING : TOMBOLA_CONTENT;
  text->marker_state = text->stop_state = 0;
  text->skip_newlines = starts_in_reasoning;
  text->n_newlines = 0;
  text->stopped = -1;
  text->utf8 = (struct tombola_utf8){.count = 0};
  text->length = 0;
}

enum tombola_status tombola_text_push(tombola_text *text, const char *bytes, size_t length,
                                      tombola_piece_fn piece, void *context) {
  text->piece = piece;
  text->context = context;
  text->status = TOMBOLA_OK;
  if (text->stopped >= 0) return TOMBOLA_OK;
  if (text->has_markers && text->pieces_rule) {
    piece_by_rule(text, bytes, length);
  } else if (text->has_markers) {
    for (size_t i = 0; i < length && text->stopped < 0; i++)
      marker_step(text, bytes[i]);
  } else {
    text_bytes(text, bytes, length);
  }
  if (text->at_piece_end && text->has_stops) stop_at_end(text, bytes, length);
  flush(text);
  return text->status;
}

enum tombola_status tombola_text_finish(tombola_text *text, tombola_piece_fn piece, void *context) {
  text->piece = piece;
  text->context = context;
  text->status = TOMBOLA_OK;
  if (text->stopped < 0) {
    const struct tombola__automaton *a = &text->markers;
    if (text->marker_state)
      channel_bytes(text, a->text + a->text_at[text->marker_state], a->depth[text->marker_state]);
    release_newlines(text);
    if (text->has_stops && !text->at_piece_end && text->stopped < 0) release_stop(text);
    if (make_room(text, 3)) text->length += tombola_utf8_finish(&text->utf8, text->out + text->length);
  }
  text->marker_state = text->stop_state = 0;
  flush(text);
  return text->status;
}

int tombola_text_stopped(const tombola_text *text) {
  return text->stopped;
}

enum tombola_channel tombola_text_channel(const tombola_text *text) {
  return text->channel;
}

/* The end of the last occurrence of `what`, 0 when there is none. */
static size_t last_of(const char *text, size_t length, const char *what) {
  size_t n = strlen(what);
  for (size_t end = length; n && end >= n; end--)
    if (!memcmp(text + end - n, what, n)) return end;
  return 0;
}

int tombola_text_prompt_opens(const char *prompt, size_t length, const char *think_open,
                              const char *think_close) {
  if (!prompt || !think_open || !think_close) return 0;
  return last_of(prompt, length, think_open) > last_of(prompt, length, think_close);
}
