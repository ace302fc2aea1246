/* SPDX-License-Identifier: MIT
 *
 * What occctl prints on stdout: documents and lists of documents, as tables for people or as JSON or YAML for
 * programs. All three show the same values.
 */
#ifndef OCC_CTL_OUTPUT_H
#define OCC_CTL_OUTPUT_H

#include "lib/base/fault.h"
#include "lib/io/json.h"

enum output_form { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML };

struct output {
    enum output_form form;
    bool colour;    /* stdout is a terminal, and NO_COLOR is not set */
    size_t width;   /* columns of the terminal that stdout is; 0: it is none, and nothing is cut */
    bool streaming; /* several documents follow each other: one JSON line each, or YAML documents */
};

enum column_style {
    COLUMN_TEXT,
    COLUMN_LONG,     /* text that may be cut where the table is wider than the terminal */
    COLUMN_STATE,    /* coloured by what it means */
    COLUMN_DURATION, /* milliseconds, shown as 12s, 5m, 3h, 2d */
};

struct column {
    const char *title;
    const char *member; /* of a row; "work.code" goes deeper */
    enum column_style style;
};

/* A list: a table with a line of titles, an array, or a sequence. Fault: FAULT_UNAVAILABLE OUTPUT_FAILED. */
bool output_list(const struct output *output, const cJSON *rows, const struct column *columns, size_t count,
                 struct fault *fault) MUST_USE;

/* One document: a line for each member, an object, or a mapping. */
bool output_document(const struct output *output, const cJSON *document, struct fault *fault) MUST_USE;

/* The text as it is, all of it. */
bool output_text(const char *text, struct fault *fault) MUST_USE;
bool output_bytes(const char *bytes, size_t length, struct fault *fault) MUST_USE;

/* Columns of the terminal; 80 where it does not tell. */
size_t output_terminal_width(int fd);

/* A copy on `context` that is at most `width` columns wide, its last one "…" if something was cut. */
char *output_cut(const void *context, const char *text, size_t width)
    __attribute__((returns_nonnull)) MUST_USE;
size_t output_width(const char *text); /* in columns */

/* ---- What the forms are made of; each appends to a text that mem_text() made. */

char *output_table(char *text, const struct output *output, const cJSON *rows, const struct column *columns,
                   size_t count) __attribute__((returns_nonnull)) MUST_USE;
char *output_fields(char *text, bool colour, const cJSON *document) __attribute__((returns_nonnull)) MUST_USE;
char *output_yaml(char *text, const cJSON *value) __attribute__((returns_nonnull)) MUST_USE;

/* "850ms", "12s", "5m3s", "3h20m", "2d4h". */
#define OUTPUT_DURATION_SIZE 32
void output_duration(char text[OUTPUT_DURATION_SIZE], int64_t milliseconds);

/* The escape sequence for a state's colour; "" for one that has none. */
const char *output_state_colour(const char *state);
#define OUTPUT_COLOUR_END "\033[0m"

#endif
