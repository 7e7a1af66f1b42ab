/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation in a file: {"messages": [{"role": "user", "content": "…"}, …]}, as OpenAI's requests have it. */
#include "chat.h"
#include "terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

bool chat_save(const struct conversation *conversation, const char *path) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "messages");
  yyjson_write_err failure;
  bool good = list != NULL;
  yyjson_mut_doc_set_root(doc, root);
  for (size_t i = 0; good && i < conversation->count; i++) {
    yyjson_mut_val *message = yyjson_mut_arr_add_obj(doc, list);
    good = message && yyjson_mut_obj_add_str(doc, message, "role", conversation->messages[i].role) &&
           yyjson_mut_obj_add_str(doc, message, "content", conversation->messages[i].content);
  }
  errno = 0;
  if (!good)
    complain("out of memory");
  else if (!yyjson_mut_write_file(path, doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_NEWLINE_AT_END, NULL, &failure)) {
    good = false;
    complain("cannot write %s: %s", path, errno ? strerror(errno) : failure.msg);
  }
  yyjson_mut_doc_free(doc);
  return good;
}

/* The role as a static text; NULL for none that a conversation has. */
static const char *role_of(yyjson_val *message) {
  static const char *const roles[] = {"system", "user", "assistant"};
  for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
    if (yyjson_equals_str(yyjson_obj_get(message, "role"), roles[i])) return roles[i];
  return NULL;
}

/* Complaints name what is wrong where. */
static bool fill(struct conversation *conversation, yyjson_val *list, const char *path) {
  size_t count = yyjson_arr_size(list);
  if (!yyjson_is_arr(list) || !count) {
    complain("%s: \"messages\" must be an array that isn't empty", path);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    yyjson_val *message = yyjson_arr_get(list, i);
    yyjson_val *content = yyjson_obj_get(message, "content");
    const char *role = role_of(message);
    if (!role || (i > 0 && strcmp(role, "system") == 0) || !yyjson_is_str(content) ||
        strlen(yyjson_get_str(content)) != yyjson_get_len(content)) {
      complain("%s: /messages/%zu is no message: a role (system, first only; user; assistant) and a text are needed", path,
               i);
      return false;
    }
    if (!conversation_add(conversation, role, yyjson_get_str(content))) {
      complain("out of memory");
      return false;
    }
  }
  return true;
}

bool chat_load(struct conversation *conversation, const char *path) {
  struct conversation loaded = {0};
  yyjson_read_err failure;
  yyjson_doc *doc;
  bool good;
  if (access(path, R_OK) != 0) {
    complain("cannot read %s: %s", path, strerror(errno));
    return false;
  }
  doc = yyjson_read_file(path, 0, NULL, &failure);
  if (!doc) {
    complain("%s: %s (byte %zu)", path, failure.msg, failure.pos);
    return false;
  }
  good = fill(&loaded, yyjson_obj_get(yyjson_doc_get_root(doc), "messages"), path);
  yyjson_doc_free(doc);
  if (!good) {
    conversation_free(&loaded);
    return false;
  }
  conversation_free(conversation);
  *conversation = loaded;
  return true;
}
