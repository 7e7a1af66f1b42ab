/* SPDX-License-Identifier: Apache-2.0 */
/* A session in a file. All numbers have their least significant byte first:
 *    0  8 bytes  "TOMBOLAS"
 *    8  u32      version of the layout, 1
 *   12  u32      bytes of the model's name
 *   16  u64      hash of the vocabulary
 *   24  u64      number of tokens
 *   32  u64      bytes of the model's state
 *   40  u64      XXH3 of the 40 bytes in front and of all behind
 *   48           the name, the tokens (i32 each), the state
 * Everything is checked before the session is touched. */
#define _POSIX_C_SOURCE 200809L
#define XXH_INLINE_ALL
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "session/internal.h"

#define HEAD    48
#define VERSION 1
static const char magic[] = "TOMBOLAS";

struct state_file {
  size_t name_length, count, state_length;
  uint64_t vocabulary;
  unsigned char *bytes; /* the whole file */
  size_t size;
};

/* ---- numbers and hashes ---- */

static void put(unsigned char *bytes, uint64_t number, size_t width) {
  for (size_t i = 0; i < width; i++)
    bytes[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get(const unsigned char *bytes, size_t width) {
  uint64_t number = 0;
  for (size_t i = 0; i < width; i++)
    number |= (uint64_t)bytes[i] << (8 * i);
  return number;
}

/* A model's tokens: each one's kind, length and bytes. */
static uint64_t hash_vocabulary(const tombola_vocabulary *vocabulary) {
  XXH3_state_t state;
  size_t count = tombola_vocabulary_count(vocabulary);
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (size_t i = 0; i < count; i++) {
    size_t length;
    unsigned char head[12];
    const char *bytes = tombola_vocabulary_bytes(vocabulary, (tombola_token)i, &length);
    put(head, length, 8);
    put(head + 8, tombola_vocabulary_flags(vocabulary, (tombola_token)i), 4);
    XXH3_64bits_update(&state, head, sizeof head);
    if (length > 0) XXH3_64bits_update(&state, bytes, length);
  }
  return XXH3_64bits_digest(&state);
}

static uint64_t checksum(const struct state_file *file) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, file->bytes, 40);
  XXH3_64bits_update(&state, file->bytes + HEAD, file->size - HEAD);
  return XXH3_64bits_digest(&state);
}

static bool whole_size(const struct state_file *file, size_t *size) {
  size_t tokens;
  return tombola__multiply(file->count, 4, &tokens) && tombola__add(HEAD, file->name_length, size) &&
         tombola__add(*size, tokens, size) && tombola__add(*size, file->state_length, size);
}

static const char *name_of(const tombola_session *session) {
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(session->model, &info);
  return info.name ? info.name : "";
}

/* ---- saving ---- */

static enum tombola_status io_failed(struct tombola_error *error, const char *path, int number) {
  char reason[96];
  if (strerror_r(number, reason, sizeof reason) != 0) strcpy(reason, "unknown error");
  return tombola__fail(error, number == ENOENT ? TOMBOLA_NOT_FOUND : TOMBOLA_IO, "path", "%s: %s", path,
                       reason);
}

static enum tombola_status state_length(const tombola_session *session, size_t *length,
                                        struct tombola_error *error) {
  enum tombola_status status =
      tombola_model_state_get(session->model, session->sequence, NULL, 0, length, error);
  if (session->count == 0) *length = 0; /* nothing is kept of an empty cache */
  return status == TOMBOLA_OUT_OF_RANGE ? TOMBOLA_OK : status;
}

static enum tombola_status fill_file(tombola_session *session, struct state_file *file,
                                     struct tombola_error *error) {
  const char *name = name_of(session);
  file->name_length = strlen(name);
  file->count = session->count;
  file->vocabulary = hash_vocabulary(session->vocabulary);
  enum tombola_status status = state_length(session, &file->state_length, error);
  if (status != TOMBOLA_OK) return status;
  if (!whole_size(file, &file->size)) return tombola__no_memory(error);
  unsigned char *bytes = file->bytes = tombola__new(&session->allocator, file->size, 1);
  if (!bytes) return tombola__no_memory(error);
  memcpy(bytes, magic, 8);
  put(bytes + 8, VERSION, 4);
  put(bytes + 12, file->name_length, 4);
  put(bytes + 16, file->vocabulary, 8);
  put(bytes + 24, file->count, 8);
  put(bytes + 32, file->state_length, 8);
  memcpy(bytes + HEAD, name, file->name_length);
  bytes += HEAD + file->name_length;
  for (size_t i = 0; i < file->count; i++, bytes += 4)
    put(bytes, (uint64_t)session->tokens[i], 4);
  size_t length;
  if (file->state_length > 0)
    status =
        tombola_model_state_get(session->model, session->sequence, bytes, file->state_length, &length, error);
  put(file->bytes + 40, checksum(file), 8);
  return status;
}

static int write_all(int descriptor, const unsigned char *bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(descriptor, bytes, size < (1u << 30) ? size : (1u << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    size -= (size_t)written;
  }
  return 0;
}

/* A new file beside the old one, which it replaces when it is whole. */
static enum tombola_status write_file(const tombola_session *session, const char *path,
                                      const struct state_file *file, struct tombola_error *error) {
  static const char suffix[] = ".XXXXXX";
  size_t length = strlen(path);
  char *other = tombola__new(&session->allocator, length + sizeof suffix, 1);
  if (!other) return tombola__no_memory(error);
  memcpy(other, path, length);
  memcpy(other + length, suffix, sizeof suffix);
  int descriptor = mkstemp(other), number = descriptor < 0 ? errno : 0;
  if (descriptor >= 0) {
    number = write_all(descriptor, file->bytes, file->size);
    if (close(descriptor) != 0 && number == 0) number = errno;
    if (number == 0 && rename(other, path) != 0) number = errno;
    if (number != 0) unlink(other);
  }
  tombola__free(&session->allocator, other);
  if (number == 0) return TOMBOLA_OK;
  enum tombola_status status = io_failed(error, path, number);
  if (status == TOMBOLA_NOT_FOUND && error) error->status = TOMBOLA_IO; /* its folder, that is */
  return TOMBOLA_IO;
}

static enum tombola_status check_arguments(const tombola_session *session, const char *path,
                                           struct tombola_error *error) {
  if (session && path) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, session ? "path" : "session", "%s is NULL",
                       session ? "path" : "session");
}

enum tombola_status tombola_session_save(tombola_session *session, const char *path,
                                         struct tombola_error *error) {
  enum tombola_status status = check_arguments(session, path, error);
  if (status != TOMBOLA_OK) return status;
  struct state_file file = {.bytes = NULL};
  status = fill_file(session, &file, error);
  if (status == TOMBOLA_OK) status = write_file(session, path, &file, error);
  tombola__free(&session->allocator, file.bytes);
  return status;
}

/* ---- loading ---- */

static int read_all(int descriptor, unsigned char *bytes, size_t *size) {
  size_t done = 0;
  while (done < *size) {
    ssize_t got = read(descriptor, bytes + done, *size - done < (1u << 30) ? *size - done : (1u << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    done += (size_t)got;
  }
  *size = done;
  return 0;
}

static enum tombola_status read_open_file(const tombola_session *session, const char *path, int descriptor,
                                          struct state_file *file, struct tombola_error *error) {
  struct stat about;
  if (fstat(descriptor, &about) != 0) return io_failed(error, path, errno);
  if (!S_ISREG(about.st_mode) || about.st_size < HEAD)
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is no saved session", path);
  file->size = (size_t)about.st_size;
  file->bytes = tombola__new(&session->allocator, file->size, 1);
  if (!file->bytes) return tombola__no_memory(error);
  int number = read_all(descriptor, file->bytes, &file->size);
  return number == 0 ? TOMBOLA_OK : io_failed(error, path, number);
}

static enum tombola_status read_file(const tombola_session *session, const char *path,
                                     struct state_file *file, struct tombola_error *error) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return io_failed(error, path, errno);
  enum tombola_status status = read_open_file(session, path, descriptor, file, error);
  close(descriptor);
  return status;
}

static enum tombola_status check_file(const char *path, struct state_file *file,
                                      struct tombola_error *error) {
  const unsigned char *bytes = file->bytes;
  size_t size;
  if (file->size < HEAD || memcmp(bytes, magic, 8) != 0)
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is no saved session", path);
  if (get(bytes + 8, 4) != VERSION)
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: has layout %u; this version reads layout %d",
                         path, (unsigned)get(bytes + 8, 4), VERSION);
  uint64_t count = get(bytes + 24, 8), state = get(bytes + 32, 8);
  file->name_length = (size_t)get(bytes + 12, 4);
  file->vocabulary = get(bytes + 16, 8);
  file->count = (size_t)count;
  file->state_length = (size_t)state;
  bool sound = file->count == count && file->state_length == state && whole_size(file, &size);
  if (sound && size > file->size)
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is cut short: %zu bytes of %zu are there", path,
                         file->size, size);
  if (!sound || size < file->size || checksum(file) != get(bytes + 40, 8))
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is damaged", path);
  return TOMBOLA_OK;
}

static enum tombola_status check_fit(const tombola_session *session, const char *path,
                                     const struct state_file *file, struct tombola_error *error) {
  const char *name = name_of(session), *its = (const char *)file->bytes + HEAD;
  int shown = file->name_length < 80 ? (int)file->name_length : 80;
  if (file->name_length != strlen(name) || memcmp(its, name, file->name_length) != 0)
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is of the model %.*s, this one is %s", path,
                         shown, its, name);
  if (file->vocabulary != hash_vocabulary(session->vocabulary))
    return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is of a model with another vocabulary", path);
  if (file->count > session->context)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "context",
                         "%s: has %zu tokens, the context has room for %zu", path, file->count,
                         session->context);
  const unsigned char *token = file->bytes + HEAD + file->name_length;
  for (size_t i = 0; i < file->count; i++, token += 4) {
    if (get(token, 4) >= session->vocab_size || (file->state_length == 0))
      return tombola__fail(error, TOMBOLA_FORMAT, "path", "%s: is damaged", path);
  }
  return TOMBOLA_OK;
}

static enum tombola_status put_back(tombola_session *session, const char *path, const struct state_file *file,
                                    struct tombola_error *error) {
  const unsigned char *token = file->bytes + HEAD + file->name_length;
  struct tombola_error why = {.message = ""};
  if (file->count == 0) {
    tombola_session_clear(session);
    return TOMBOLA_OK;
  }
  enum tombola_status status = tombola_model_state_set(session->model, session->sequence,
                                                       token + 4 * file->count, file->state_length, &why);
  if (status == TOMBOLA_MODEL) tombola_session_clear(session);
  if (status != TOMBOLA_OK) return tombola__fail(error, status, "path", "%s: %s", path, why.message);
  for (size_t i = 0; i < file->count; i++, token += 4)
    session->tokens[i] = (tombola_token)get(token, 4);
  session->count = file->count;
  return TOMBOLA_OK;
}

enum tombola_status tombola_session_load(tombola_session *session, const char *path,
                                         struct tombola_error *error) {
  enum tombola_status status = check_arguments(session, path, error);
  if (status != TOMBOLA_OK) return status;
  struct state_file file = {.bytes = NULL};
  status = read_file(session, path, &file, error);
  if (status == TOMBOLA_OK) status = check_file(path, &file, error);
  if (status == TOMBOLA_OK) status = check_fit(session, path, &file, error);
  if (status == TOMBOLA_OK) status = put_back(session, path, &file, error);
  tombola__free(&session->allocator, file.bytes);
  return status;
}
