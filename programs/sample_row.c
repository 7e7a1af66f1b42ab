/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from files, for people who check their own engine: a JSON array, a .npy array as numpy.save writes it,
 * or the bare numbers in the machine's byte order. Half precision stays half precision: the sampler reads it
 * as it is. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "text.h"
#include "yyjson.h"

#define ROW_MAX_BYTES ((size_t)1 << 30)

/* A whole file; NUL behind the last byte. */
struct bytes {
  char *data;
  size_t size;
};

enum tombola_status sample_fail(struct tombola_error *error, enum tombola_status status, const char *param,
                                const char *format, ...) {
  va_list arguments;
  memset(error, 0, sizeof *error);
  error->status = status;
  snprintf(error->param, sizeof error->param, "%s", param);
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  text_clean(error->param); /* a name that was cut inside a character is no JSON text */
  text_clean(error->message);
  return status;
}

static const char *const format_names[] = {"auto", "json", "npy", "f32", "f16", "bf16"};

bool row_format_find(const char *name, enum row_format *format) {
  for (size_t i = 0; i < sizeof format_names / sizeof *format_names; i++) {
    if (strcmp(name, format_names[i]) == 0) {
      *format = (enum row_format)i;
      return true;
    }
  }
  return false;
}

static enum tombola_status read_stream(FILE *file, const char *path, struct bytes *out,
                                       struct tombola_error *error) {
  size_t room = 0;
  for (;;) {
    if (out->size + 1 >= room) {
      room = room ? 2 * room : 65536;
      char *data = room <= 2 * ROW_MAX_BYTES ? realloc(out->data, room) : NULL;
      if (!data)
        return sample_fail(error, TOMBOLA_NO_MEMORY, "row", "%s: no memory for a row of this size", path);
      out->data = data;
    }
    size_t n = fread(out->data + out->size, 1, room - out->size - 1, file);
    if (n == 0) break;
    out->size += n;
  }
  out->data[out->size] = '\0';
  if (ferror(file)) return sample_fail(error, TOMBOLA_IO, "row", "%s: %s", path, strerror(errno));
  return TOMBOLA_OK;
}

static enum tombola_status read_file(const char *path, struct bytes *out, struct tombola_error *error) {
  if (strcmp(path, "-") == 0) return read_stream(stdin, "standard input", out, error);
  FILE *file = fopen(path, "rb");
  if (!file)
    return sample_fail(error, errno == ENOENT ? TOMBOLA_NOT_FOUND : TOMBOLA_IO, "row", "%s: %s", path,
                       strerror(errno));
  enum tombola_status status = read_stream(file, path, out, error);
  fclose(file);
  return status;
}

/* Gives the bytes from `offset` on to `out`, which then owns them. */
static enum tombola_status take_raw(struct bytes *bytes, size_t offset, enum tombola_dtype dtype,
                                    struct sample_row *out, struct tombola_error *error) {
  size_t width = dtype == TOMBOLA_F32 ? 4 : 2;
  size_t size = bytes->size - offset;
  if (size == 0 || size % width != 0)
    return sample_fail(error, TOMBOLA_FORMAT, "row",
                       "%zu bytes are no row of %zu-byte numbers; a JSON array looks like [2, 1, 0]", size, width);
  memmove(bytes->data, bytes->data + offset, size);
  out->row = (struct tombola_row){.data = bytes->data, .count = size / width, .dtype = dtype};
  out->memory = bytes->data;
  bytes->data = NULL;
  return TOMBOLA_OK;
}

/* f64 becomes f32 in place: the sampler takes no doubles. */
static void narrow(struct bytes *bytes, size_t offset) {
  size_t count = (bytes->size - offset) / sizeof(double);
  for (size_t i = 0; i < count; i++) {
    double wide;
    memcpy(&wide, bytes->data + offset + i * sizeof wide, sizeof wide);
    float number = (float)wide;
    memcpy(bytes->data + offset + i * sizeof number, &number, sizeof number);
  }
  bytes->size = offset + count * sizeof(float);
}

/* The number of elements of a header's "'shape': (1, 32000)"; 0 unless all dimensions but one are 1. */
static size_t npy_count(const char *header) {
  const char *at = strstr(header, "'shape'");
  at = at ? strchr(at, '(') : NULL;
  if (!at) return 0;
  size_t count = 1, long_ones = 0;
  for (at++; *at && *at != ')';) {
    char *end;
    unsigned long long n = strtoull(at, &end, 10);
    if (end == at) {
      at++;
      continue;
    }
    long_ones += n != 1;
    count *= n > ROW_MAX_BYTES ? 0 : (size_t)n;
    at = end;
  }
  return long_ones <= 1 ? count : 0;
}

/* "'descr': '<f4'": the width in bytes of a little-endian float (2, 4, 8), else 0. */
static size_t npy_width(const char *header) {
  const char *at = strstr(header, "'descr'");
  at = at ? strchr(at + strlen("'descr'"), '\'') : NULL;
  if (!at || at[1] != '<' || at[2] != 'f' || at[4] != '\'') return 0;
  return at[3] == '2' || at[3] == '4' || at[3] == '8' ? (size_t)(at[3] - '0') : 0;
}

/* Format: numpy.lib.format, versions 1 to 3: magic, version, the header's length (2 or 4 bytes), a Python
 * literal. */
static enum tombola_status take_npy(struct bytes *bytes, struct sample_row *out,
                                    struct tombola_error *error) {
  const unsigned char *data = (const unsigned char *)bytes->data;
  if (bytes->size < 12 || memcmp(data, "\x93NUMPY", 6) != 0)
    return sample_fail(error, TOMBOLA_FORMAT, "row", "not a .npy file");
  size_t start = data[6] == 1 ? 10 : 12;
  size_t length = (size_t)data[8] | (size_t)data[9] << 8;
  if (data[6] != 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
  if (data[6] < 1 || data[6] > 3 || length > bytes->size - start)
    return sample_fail(error, TOMBOLA_FORMAT, "row", "a .npy file with a damaged header");

  char header[1024];
  size_t kept = length < sizeof header - 1 ? length : sizeof header - 1;
  memcpy(header, data + start, kept);
  header[kept] = '\0';
  size_t width = npy_width(header), count = npy_count(header);
  if (width == 0)
    return sample_fail(error, TOMBOLA_FORMAT, "row", "the .npy array must be of type <f2, <f4 or <f8");
  if (count == 0)
    return sample_fail(error, TOMBOLA_FORMAT, "row", "the .npy array must be one row: (V,) or (1, V)");
  size_t offset = start + length;
  if (bytes->size - offset != count * width)
    return sample_fail(error, TOMBOLA_FORMAT, "row",
                       "the .npy array has %zu bytes of data, its shape says %zu", bytes->size - offset,
                       count * width);
  if (width == 8) narrow(bytes, offset);
  return take_raw(bytes, offset, width == 2 ? TOMBOLA_F16 : TOMBOLA_F32, out, error);
}

static bool number_of(yyjson_val *value, float *out) {
  static const struct {
    const char *name;
    double value;
  } words[] = {{"-inf", -HUGE_VAL}, {"inf", HUGE_VAL}, {"+inf", HUGE_VAL}, {"nan", (double)NAN}};
  if (yyjson_is_num(value)) {
    *out = (float)yyjson_get_num(value);
    return true;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (yyjson_equals_str(value, words[i].name)) {
      *out = (float)words[i].value;
      return true;
    }
  }
  return false;
}

enum tombola_status sample_row_from_json(yyjson_val *array, struct sample_row *out,
                                         struct tombola_error *error) {
  size_t count = yyjson_arr_size(array);
  if (!yyjson_is_arr(array) || count == 0)
    return sample_fail(error, TOMBOLA_FORMAT, "logits", "logits must be an array of at least one number");
  float *numbers = malloc(count * sizeof *numbers);
  if (!numbers) return sample_fail(error, TOMBOLA_NO_MEMORY, "logits", "out of memory");
  yyjson_arr_iter iter = yyjson_arr_iter_with(array);
  for (size_t i = 0; i < count; i++) {
    if (!number_of(yyjson_arr_iter_next(&iter), &numbers[i])) {
      free(numbers);
      return sample_fail(error, TOMBOLA_FORMAT, "logits",
                         "logits[%zu] must be a number, \"inf\", \"-inf\" or \"nan\"", i);
    }
  }
  out->row = (struct tombola_row){.data = numbers, .count = count, .dtype = TOMBOLA_F32};
  out->memory = numbers;
  return TOMBOLA_OK;
}

/* A text is an array, or an object with "logits", so that a line of a batch can be looked at alone. */
static enum tombola_status take_json(const struct bytes *bytes, struct sample_row *out,
                                     struct tombola_error *error) {
  yyjson_read_err problem;
  yyjson_doc *doc = yyjson_read_opts(bytes->data, bytes->size, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, &problem);
  if (!doc) return sample_fail(error, TOMBOLA_FORMAT, "row", "byte %zu: %s", problem.pos, problem.msg);
  yyjson_val *root = yyjson_doc_get_root(doc);
  yyjson_val *logits = yyjson_is_obj(root) ? yyjson_obj_get(root, "logits") : root;
  enum tombola_status status = sample_row_from_json(logits, out, error);
  yyjson_doc_free(doc);
  return status;
}

/* JSON begins with a bracket and holds no control characters; four bytes of a float that do are beyond
 * belief. */
static enum row_format guess(const struct bytes *bytes) {
  if (bytes->size >= 6 && memcmp(bytes->data, "\x93NUMPY", 6) == 0) return ROW_NPY;
  size_t i = strspn(bytes->data, " \t\r\n");
  if (bytes->data[i] != '[' && bytes->data[i] != '{') return ROW_F32;
  for (size_t end = i + 64; i < bytes->size && i < end; i++) {
    if ((unsigned char)bytes->data[i] >= 127 ||
        ((unsigned char)bytes->data[i] < 32 && !strchr("\t\r\n", bytes->data[i])))
      return ROW_F32;
  }
  return ROW_JSON;
}

static enum tombola_status take(struct bytes *bytes, enum row_format format, struct sample_row *out,
                                struct tombola_error *error) {
  if (bytes->size == 0) return sample_fail(error, TOMBOLA_FORMAT, "row", "the input is empty");
  switch (format == ROW_AUTO ? guess(bytes) : format) {
  case ROW_NPY: return take_npy(bytes, out, error);
  case ROW_F32: return take_raw(bytes, 0, TOMBOLA_F32, out, error);
  case ROW_F16: return take_raw(bytes, 0, TOMBOLA_F16, out, error);
  case ROW_BF16: return take_raw(bytes, 0, TOMBOLA_BF16, out, error);
  case ROW_AUTO:
  case ROW_JSON: break;
  }
  return take_json(bytes, out, error);
}

enum tombola_status sample_row_load(const char *path, enum row_format format, struct sample_row *out,
                                    struct tombola_error *error) {
  struct bytes bytes = {0};
  enum tombola_status status = read_file(path, &bytes, error);
  if (status == TOMBOLA_OK) {
    status = take(&bytes, format, out, error);
    if (status == TOMBOLA_FORMAT) { /* say which file */
      char message[sizeof error->message];
      memcpy(message, error->message, sizeof message);
      snprintf(error->message, sizeof error->message, "%.80s: %.160s",
               strcmp(path, "-") ? path : "standard input", message);
    }
  }
  free(bytes.data);
  return status;
}
