/* SPDX-License-Identifier: Apache-2.0 */
/* URI references against a base (RFC 3986, sections 5.2 and 5.3). */
#include <string.h>

#include "constraint/schema/internal.h"

struct text {
  const char *text; /* NULL: not there */
  size_t length;
};

struct uri {
  struct text scheme, authority, path, query, fragment;
};

static bool is_scheme(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'))) return false;
  }
  return length > 0;
}

/* How far the text goes in front of any of `ends`. */
static size_t until(const char *text, size_t length, const char *ends) {
  size_t i = 0;
  while (i < length && !(text[i] && strchr(ends, text[i])))
    i++;
  return i;
}

static struct uri split(const char *text, size_t length) {
  struct uri u = {{NULL, 0}, {NULL, 0}, {text, 0}, {NULL, 0}, {NULL, 0}};
  size_t n = until(text, length, ":/?#");
  if (n < length && text[n] == ':' && is_scheme(text, n)) {
    u.scheme = (struct text){text, n};
    text += n + 1;
    length -= n + 1;
  }
  if (length >= 2 && text[0] == '/' && text[1] == '/') {
    n = until(text + 2, length - 2, "/?#");
    u.authority = (struct text){text + 2, n};
    text += n + 2;
    length -= n + 2;
  }
  n = until(text, length, "?#");
  u.path = (struct text){text, n};
  text += n;
  length -= n;
  if (length > 0 && text[0] == '?') {
    n = until(text, length, "#");
    u.query = (struct text){text + 1, n - 1};
    text += n;
    length -= n;
  }
  if (length > 0) u.fragment = (struct text){text + 1, length - 1};
  return u;
}

/* Section 5.2.4, in place; returns the new length. */
static size_t remove_dots(char *path, size_t length) {
  size_t in = 0, out = 0;
  while (in < length) {
    const size_t end = in + 1 + until(path + in + 1, length - in - 1, "/"); /* one "/segment", or the first */
    const char *const segment = path[in] == '/' ? path + in + 1 : path + in;
    const size_t n = (size_t)(path + end - segment);
    const bool one = n == 1 && segment[0] == '.', two = n == 2 && segment[0] == '.' && segment[1] == '.';
    if (two) {
      while (out > 0 && path[--out] != '/')
        continue;
    }
    if (!one && !two) {
      memmove(path + out, path + in, end - in);
      out += end - in;
    } else if (end == length) {
      path[out++] = '/'; /* there is room: a dot was left out */
    }
    in = end;
  }
  return out;
}

static size_t clean_path(char *path, size_t length) {
  const bool relative = length > 0 && path[0] != '/';
  length = remove_dots(path, length);
  if (!relative || length == 0 || path[0] != '/') return length;
  memmove(path, path + 1, length - 1);
  return length - 1;
}

static void put(char *out, size_t *at, const char *before, struct text text, const char *after) {
  if (!text.text) return;
  for (; *before; before++)
    out[(*at)++] = *before;
  memcpy(out + *at, text.text, text.length);
  *at += text.length;
  for (; *after; after++)
    out[(*at)++] = *after;
}

/* The base's path up to its last "/", and the reference's. */
static void put_merged(char *out, size_t *at, const struct uri *base, const struct uri *reference) {
  size_t keep = base->path.length;
  while (keep > 0 && base->path.text[keep - 1] != '/')
    keep--;
  if (base->authority.text && base->path.length == 0) out[(*at)++] = '/';
  put(out, at, "", (struct text){base->path.text, keep}, "");
  put(out, at, "", reference->path, "");
}

const char *tombola__uri_resolve(struct tombola__store *s, const char *base, const char *reference,
                                 size_t length) {
  const struct uri b = split(base, strlen(base)), r = split(reference, length);
  char *const out = tombola__store_take(s, strlen(base) + length + 8, 1);
  if (!out) return NULL;
  size_t at = 0;
  const bool own = r.scheme.text != NULL, host = own || r.authority.text != NULL;
  put(out, &at, "", own ? r.scheme : b.scheme, ":");
  put(out, &at, "//", host ? r.authority : b.authority, "");
  const size_t path = at;
  if (!host && r.path.length == 0) {
    put(out, &at, "", b.path, "");
    put(out, &at, "?", r.query.text ? r.query : b.query, "");
  } else {
    if (host || r.path.text[0] == '/')
      put(out, &at, "", r.path, "");
    else
      put_merged(out, &at, &b, &r);
    at = path + clean_path(out + path, at - path);
    put(out, &at, "?", r.query, "");
  }
  put(out, &at, "#", r.fragment, "");
  out[at] = '\0'; /* dots may have left something behind */
  return out;
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

size_t tombola__uri_decode(char *text, size_t length) {
  size_t out = 0;
  for (size_t i = 0; i < length; i++) {
    const bool coded = text[i] == '%' && i + 2 < length && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    text[out++] = coded ? (char)(unsigned char)(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (coded) i += 2;
  }
  return out;
}
