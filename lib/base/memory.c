/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"

#include <unistd.h>

void mem_exhausted(void)
{
    static const char line[] =
        "{\"severity\":\"ERROR\",\"event\":\"worker.error\",\"code\":\"OUT_OF_MEMORY\"}\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);

    (void)written;
    _exit(70);
}

static void *checked(void *memory)
{
    if (!memory)
        mem_exhausted();
    return memory;
}

TALLOC_CTX *mem_context(const void *context)
{
    return checked(talloc_new(context));
}

void *mem_zeroed(const void *context, size_t size, size_t count, const char *name)
{
    void *memory;

    if (count > UINT32_MAX)
        mem_exhausted();
    memory = checked(_talloc_zero_array(context, size, (unsigned)count, name));
    return memory;
}

void *mem_resized(const void *context, void *old, size_t size, size_t count, const char *name)
{
    if (count == 0 || count > UINT32_MAX)
        mem_exhausted();
    return checked(_talloc_realloc_array(context, old, size, (unsigned)count, name));
}

char *mem_text(const void *context, const char *text)
{
    return checked(talloc_strdup(context, text));
}

char *mem_text_part(const void *context, const char *text, size_t length)
{
    return checked(talloc_strndup(context, text, length));
}

char *mem_format_list(const void *context, const char *format, va_list arguments)
{
    return checked(talloc_vasprintf(context, format, arguments));
}

char *mem_format(const void *context, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = mem_format_list(context, format, arguments);
    va_end(arguments);
    return text;
}

char *mem_append(char *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text = talloc_vasprintf_append_buffer(text, format, arguments);
    va_end(arguments);
    return checked(text);
}
