/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola dialects`: the engines' rules side by side. What most of them have in common is plain, what one does
 * differently is bold. Everything comes from the library's own data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "options.h"
#include "terminal.h"
#include "yyjson.h"

enum { MAX_DIALECTS = 32, CELL = 96, LABEL = 26 };

/* A line of the table: a label and a text for each dialect; an empty text is an empty place. */
struct line {
  char label[32];
  char cells[MAX_DIALECTS][CELL];
};

struct table {
  const struct tombola_dialect_info *dialects[MAX_DIALECTS];
  size_t n_dialects;
  struct line *lines;
  size_t n_lines, capacity;
};

static struct line *add_line(struct table *table, const char *label) {
  if (table->n_lines == table->capacity) {
    size_t capacity = table->capacity ? 2 * table->capacity : 64;
    struct line *lines = realloc(table->lines, capacity * sizeof *lines);
    if (!lines) return NULL;
    table->lines = lines;
    table->capacity = capacity;
  }
  struct line *line = &table->lines[table->n_lines++];
  memset(line, 0, sizeof *line);
  snprintf(line->label, sizeof line->label, "%s", label);
  return line;
}

/* The value of a parameter by default, in a program or in a server. */
static void default_of(const char *dialect, const char *param, bool server, char *text, size_t size) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  enum tombola_status status = server ? tombola_sampler_params_default_server(&params, dialect, NULL)
                                      : tombola_sampler_params_default(&params, dialect, NULL);
  text[0] = '\0';
  if (status == TOMBOLA_OK) tombola_sampler_params_get(&params, param, text, size);
}

static bool add_order(struct table *table) {
  size_t most = 0;
  for (size_t d = 0; d < table->n_dialects; d++)
    if (table->dialects[d]->n_order > most) most = table->dialects[d]->n_order;
  for (size_t i = 0; i < most; i++) {
    char label[32];
    snprintf(label, sizeof label, "stage %zu", i + 1);
    struct line *line = add_line(table, label);
    for (size_t d = 0; line && d < table->n_dialects; d++)
      if (i < table->dialects[d]->n_order) snprintf(line->cells[d], CELL, "%s", table->dialects[d]->order[i]);
    if (!line) return false;
  }
  return true;
}

/* A parameter's defaults, a server's behind a slash where they differ. */
static bool add_param(struct table *table, const struct tombola_param_info *param) {
  struct line *line = add_line(table, param->name);
  for (size_t d = 0; line && d < table->n_dialects; d++) {
    char program[CELL / 3], server[CELL / 3];
    default_of(table->dialects[d]->name, param->name, false, program, sizeof program);
    default_of(table->dialects[d]->name, param->name, true, server, sizeof server);
    bool same = strcmp(program, server) == 0;
    snprintf(line->cells[d], CELL, "%s%s%s", program, same ? "" : " / ", same ? "" : server);
  }
  return line != NULL;
}

static bool is_shown(const struct tombola_param_info *param) {
  return param->type == TOMBOLA_PARAM_FLOAT || param->type == TOMBOLA_PARAM_INT ||
         param->type == TOMBOLA_PARAM_CHOICE || param->type == TOMBOLA_PARAM_BOOL;
}

static bool add_rules(struct table *table) {
  const char *name;
  char text[CELL];
  for (size_t i = 0;
       tombola_dialect_rule(table->dialects[0]->name, i, &name, text, sizeof text) == TOMBOLA_OK; i++) {
    struct line *line = add_line(table, name);
    if (!line) return false;
    for (size_t d = 0; d < table->n_dialects; d++)
      tombola_dialect_rule(table->dialects[d]->name, i, &name, line->cells[d], CELL);
  }
  return true;
}

static bool fill(struct table *table) {
  bool done = add_order(table);
  const struct tombola_param_info *param;
  for (size_t i = 0; done && (param = tombola_param_at(i)); i++)
    if (is_shown(param)) done = add_param(table, param);
  return done && add_rules(table);
}

/* ---- the table ---- */

/* What most dialects have in this line; the first of equals. */
static const char *usual(const struct table *table, const struct line *line) {
  size_t best = 0, most = 0;
  for (size_t d = 0; d < table->n_dialects; d++) {
    size_t n = 0;
    for (size_t e = 0; e < table->n_dialects; e++)
      n += strcmp(line->cells[d], line->cells[e]) == 0;
    if (n > most) {
      most = n;
      best = d;
    }
  }
  return line->cells[best];
}

static size_t width_of(const struct table *table, size_t d) {
  size_t width = strlen(table->dialects[d]->name);
  for (size_t i = 0; i < table->n_lines; i++)
    if (strlen(table->lines[i].cells[d]) > width) width = strlen(table->lines[i].cells[d]);
  return width;
}

static void print_cell(const char *text, size_t width, bool bold) {
  printf("  %s%s%s%*s", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "", (int)(width - strlen(text)), "");
}

static void print_lines(const struct table *table, size_t from, size_t to, bool color) {
  printf("%-*s", LABEL, "");
  for (size_t d = from; d < to; d++)
    print_cell(table->dialects[d]->name, width_of(table, d), false);
  putchar('\n');
  for (size_t i = 0; i < table->n_lines; i++) {
    const struct line *line = &table->lines[i];
    const char *common = usual(table, line);
    printf("%-*s", LABEL, line->label);
    for (size_t d = from; d < to; d++)
      print_cell(line->cells[d], width_of(table, d), color && strcmp(line->cells[d], common) != 0);
    putchar('\n');
  }
}

/* As many columns side by side as the terminal has room for; into a pipe, all. */
static void print_table(const struct table *table, bool color) {
  struct winsize size;
  size_t room = SIZE_MAX;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) room = size.ws_col;
  for (size_t d = 0; d < table->n_dialects; d++)
    printf("%-13s %s\n%-13s follows %s\n", table->dialects[d]->name, table->dialects[d]->summary, "",
           table->dialects[d]->source);
  for (size_t from = 0, to; from < table->n_dialects; from = to) {
    size_t width = LABEL + 2 + width_of(table, from);
    for (to = from + 1; to < table->n_dialects && width + 2 + width_of(table, to) <= room; to++)
      width += 2 + width_of(table, to);
    putchar('\n');
    print_lines(table, from, to, color);
  }
  printf("\na / b: the default of the program / of a server%s\n",
         color ? "; bold: not what most dialects have" : "");
}

/* ---- JSON ---- */

static void add_params(yyjson_mut_doc *doc, yyjson_mut_val *entry, const char *key, const char *dialect,
                       bool server) {
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, entry, key);
  const struct tombola_param_info *param;
  for (size_t i = 0; (param = tombola_param_at(i)); i++) {
    char text[CELL];
    if (!is_shown(param)) continue;
    default_of(dialect, param->name, server, text, sizeof text);
    if (param->type == TOMBOLA_PARAM_INT)
      yyjson_mut_obj_add_int(doc, object, param->name, strtol(text, NULL, 10));
    else if (param->type == TOMBOLA_PARAM_FLOAT)
      yyjson_mut_obj_add_real(doc, object, param->name, strtod(text, NULL));
    else
      yyjson_mut_obj_add_strcpy(doc, object, param->name, text);
  }
}

static yyjson_mut_val *dialect_json(yyjson_mut_doc *doc, const struct tombola_dialect_info *info) {
  yyjson_mut_val *entry = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(doc, entry, "name", info->name);
  yyjson_mut_obj_add_str(doc, entry, "summary", info->summary);
  yyjson_mut_obj_add_str(doc, entry, "source", info->source);
  yyjson_mut_val *order = yyjson_mut_obj_add_arr(doc, entry, "order");
  for (size_t i = 0; i < info->n_order; i++)
    yyjson_mut_arr_add_str(doc, order, info->order[i]);
  add_params(doc, entry, "defaults", info->name, false);
  add_params(doc, entry, "server_defaults", info->name, true);
  yyjson_mut_val *rules = yyjson_mut_obj_add_obj(doc, entry, "rules");
  const char *name;
  char text[CELL];
  for (size_t i = 0; tombola_dialect_rule(info->name, i, &name, text, sizeof text) == TOMBOLA_OK; i++)
    yyjson_mut_obj_add_strcpy(doc, rules, name, text);
  return entry;
}

static int print_json(const struct table *table) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *list = yyjson_mut_arr(doc);
  if (doc) yyjson_mut_doc_set_root(doc, list);
  for (size_t d = 0; d < table->n_dialects; d++)
    yyjson_mut_arr_append(list, dialect_json(doc, table->dialects[d]));
  size_t length = 0;
  char *text = doc ? yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &length) : NULL;
  if (text) printf("%s\n", text);
  int code = text ? EXIT_OK : complain("out of memory");
  free(text);
  yyjson_mut_doc_free(doc);
  return code;
}

/* ---- the command ---- */

static int choose(const struct options *options, struct table *table) {
  for (size_t i = 0; i < options->n_operands; i++) {
    const struct tombola_dialect_info *info = tombola_dialect_find(options->operands[i]);
    if (!info) return complain_usage("there is no dialect %s (see tombola dialects)", options->operands[i]);
    if (table->n_dialects < MAX_DIALECTS) table->dialects[table->n_dialects++] = info;
  }
  if (options->n_operands) return EXIT_OK;
  for (size_t i = 0; i < tombola_dialect_count() && i < MAX_DIALECTS; i++)
    table->dialects[table->n_dialects++] = tombola_dialect_at(i);
  return EXIT_OK;
}

static bool bold_is_wanted(const struct options *options) {
  const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
  if (options->color != COLOR_AUTO) return options->color == COLOR_ALWAYS;
  return isatty(STDOUT_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

int command_dialects(struct options *options) {
  struct table table = {0};
  int code = choose(options, &table);
  if (code == EXIT_OK && options->json) {
    code = print_json(&table);
  } else if (code == EXIT_OK) {
    code = fill(&table) ? EXIT_OK : complain("out of memory");
    if (code == EXIT_OK) print_table(&table, bold_is_wanted(options));
  }
  free(table.lines);
  int finished = output_finish();
  return code ? code : finished;
}
