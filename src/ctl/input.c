/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/input.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool unreadable(struct fault *fault, const char *name, const char *why)
{
    return fault_set(fault, FAULT_INVALID, "INPUT_UNREADABLE", "%s %s.", name, why);
}

static bool read_open(const void *context, int fd, const char *name, size_t limit, const char **bytes,
                      size_t *length, struct fault *fault)
{
    char *room = mem_array(context, char, limit + 2);
    ssize_t got = file_read_whole(fd, room, limit);

    if (got < 0 || (size_t)got > limit) {
        const char *why = got < 0 && errno == EISDIR ? "is a folder" : "cannot be read";

        secret_wipe(room, limit + 2);
        talloc_free(room);
        if (got < 0)
            return unreadable(fault, name, why);
        return fault_set(fault, FAULT_INVALID, "INPUT_TOO_LARGE",
                         "%s is larger than %zu bytes, which is the limit.", name, limit);
    }
    room[got] = '\0';
    *bytes = room;
    *length = (size_t)got;
    return true;
}

/* The path is the user's own, and so is what it leads to: a pipe of the shell is as good as a file. */
bool input_read(const void *context, const char *operand, size_t limit, const char **bytes, size_t *length,
                struct fault *fault)
{
    bool done;
    int fd;

    if (text_equal(operand, "-"))
        return read_open(context, STDIN_FILENO, "Standard input", limit, bytes, length, fault);
    fd = open(operand, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return unreadable(fault, operand, file_why_not_opened(errno));
    done = read_open(context, fd, operand, limit, bytes, length, fault);
    (void)close(fd);
    return done;
}

/* A secret in a file that others can read is none any more; a pipe of the shell is fine. */
static bool is_private(int fd, const char *name, struct fault *fault)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return unreadable(fault, name, "cannot be examined");
    if (isatty(fd))
        return unreadable(fault, name,
                          "is a terminal, which would show what is typed: give a file or a pipe");
    if (S_ISREG(status.st_mode) && file_is_open_to_others(fd, status.st_mode, S_IRGRP | S_IROTH))
        return unreadable(fault, name, "can be read by others than its owner");
    return true;
}

static bool read_secret(const void *context, int fd, const char *name, size_t limit,
                        const struct secret **content, struct fault *fault)
{
    const char *bytes;
    size_t length;

    if (!is_private(fd, name, fault) || !read_open(NULL, fd, name, limit, &bytes, &length, fault))
        return false;
    *content = secret_new(context, bytes, length);
    secret_wipe((char *)(uintptr_t)bytes, length);
    talloc_free((char *)(uintptr_t)bytes);
    return true;
}

bool input_read_secret(const void *context, const char *operand, size_t limit, const struct secret **content,
                       struct fault *fault)
{
    bool done;
    int fd;

    if (text_equal(operand, "-"))
        return read_secret(context, STDIN_FILENO, "Standard input", limit, content, fault);
    fd = open(operand, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return unreadable(fault, operand, file_why_not_opened(errno));
    done = read_secret(context, fd, operand, limit, content, fault);
    (void)close(fd);
    return done;
}
