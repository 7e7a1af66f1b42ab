/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence's state as bytes: libllama's own, behind a head that says what it fits. libllama empties the
 * sequence before it finds out that a state is of another model or another type of cache, so that is compared
 * first. */
#include "backend.h"

#include <string.h>

struct head {
  uint64_t model_bytes, model_parameters;
  uint32_t version; /* of libllama's layout */
  uint32_t kv_type;
  uint32_t layers, width;
};

static struct head head_of(const struct tombola__llama *self) {
  struct head head;
  memset(&head, 0, sizeof head);
  head.model_bytes = llama_model_size(self->model);
  head.model_parameters = llama_model_n_params(self->model);
  head.version = LLAMA_STATE_SEQ_VERSION;
  head.kv_type = self->kv_type;
  head.layers = (uint32_t)llama_model_n_layer(self->model);
  head.width = (uint32_t)llama_model_n_embd(self->model);
  return head;
}

enum tombola_status tombola__llama_state_get(void *object, int32_t sequence, void *data, size_t capacity,
                                             size_t *length, struct tombola_error *error) {
  struct tombola__llama *self = object;
  struct head head = head_of(self);
  size_t state = llama_state_seq_get_size(self->context, sequence);
  *length = sizeof head + state;
  if (*length > capacity)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "capacity",
                         "the state has %zu bytes, there is room for %zu", *length, capacity);
  memcpy(data, &head, sizeof head);
  tombola__llama_log_clear();
  unsigned char *rest = (unsigned char *)data + sizeof head;
  if (state > 0 && llama_state_seq_get_data(self->context, rest, state, sequence) == state) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_MODEL, NULL, "libllama doesn't give out the state: %s",
                       tombola__llama_log_text());
}

enum tombola_status tombola__llama_state_set(void *object, int32_t sequence, const void *data, size_t length,
                                             struct tombola_error *error) {
  struct tombola__llama *self = object;
  struct head own = head_of(self), head;
  if (length <= sizeof head)
    return tombola__fail(error, TOMBOLA_FORMAT, "state", "the state has only %zu bytes", length);
  memcpy(&head, data, sizeof head);
  if (head.kv_type != own.kv_type)
    return tombola__fail(error, TOMBOLA_FORMAT, "state",
                         "the state is of a cache of another type (kv_type %u, here it is %u)",
                         (unsigned)head.kv_type, (unsigned)own.kv_type);
  if (memcmp(&head, &own, sizeof head) != 0)
    return tombola__fail(error, TOMBOLA_FORMAT, "state",
                         "the state is of another model or of another version of libllama");
  tombola__llama_log_clear();
  const unsigned char *rest = (const unsigned char *)data + sizeof head;
  self->decoded = 0;
  if (llama_state_seq_set_data(self->context, rest, length - sizeof head, sequence) == length - sizeof head)
    return TOMBOLA_OK;
  llama_memory_seq_rm(llama_get_memory(self->context), sequence, -1, -1);
  return tombola__fail(error, TOMBOLA_MODEL, NULL, "libllama doesn't take the state: %s",
                       tombola__llama_log_text());
}
