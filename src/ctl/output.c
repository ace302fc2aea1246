/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/output.h"

#include "lib/base/memory.h"

#include <errno.h>
#include <sys/ioctl.h>

bool output_bytes(const char *bytes, size_t length, struct fault *fault)
{
    if (fwrite(bytes, 1, length, stdout) == length && fflush(stdout) == 0)
        return true;
    return fault_set(fault, FAULT_UNAVAILABLE, "OUTPUT_FAILED", "Standard output cannot be written: %s.",
                     strerror(errno));
}

bool output_text(const char *text, struct fault *fault)
{
    return output_bytes(text, strlen(text), fault);
}

static bool put(char *text, struct fault *fault)
{
    bool done = output_text(text, fault);

    talloc_free(text);
    return done;
}

size_t output_terminal_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static char *machine_form(const struct output *output, char *text, const cJSON *value)
{
    if (output->form == OUTPUT_YAML)
        return output_yaml(mem_append(text, "%s", output->streaming ? "---\n" : ""), value);
    return mem_append(text, "%s\n",
                      output->streaming ? json_write(text, value) : json_write_indented(text, value));
}

bool output_list(const struct output *output, const cJSON *rows, const struct column *columns, size_t count,
                 struct fault *fault)
{
    char *text = mem_text(NULL, "");

    if (output->form == OUTPUT_TABLE)
        text = output_table(text, output, rows, columns, count);
    else
        text = machine_form(output, text, rows);
    return put(text, fault);
}

bool output_document(const struct output *output, const cJSON *document, struct fault *fault)
{
    char *text = mem_text(NULL, "");

    if (output->form == OUTPUT_TABLE)
        text = output_fields(text, output->colour, document);
    else
        text = machine_form(output, text, document);
    return put(text, fault);
}

void output_duration(char text[OUTPUT_DURATION_SIZE], int64_t milliseconds)
{
    int64_t seconds = milliseconds / 1000;

    if (milliseconds < 1000)
        (void)snprintf(text, OUTPUT_DURATION_SIZE, "%lldms", (long long)milliseconds);
    else if (seconds < 60)
        (void)snprintf(text, OUTPUT_DURATION_SIZE, "%llds", (long long)seconds);
    else if (seconds < 3600)
        (void)snprintf(text, OUTPUT_DURATION_SIZE, "%lldm%llds", (long long)(seconds / 60),
                       (long long)(seconds % 60));
    else if (seconds < 86400)
        (void)snprintf(text, OUTPUT_DURATION_SIZE, "%lldh%lldm", (long long)(seconds / 3600),
                       (long long)(seconds % 3600 / 60));
    else
        (void)snprintf(text, OUTPUT_DURATION_SIZE, "%lldd%lldh", (long long)(seconds / 86400),
                       (long long)(seconds % 86400 / 3600));
}
