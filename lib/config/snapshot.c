/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/snapshot.h"

#include "lib/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
#define SIZE_MOST (4 * 1024 * 1024)

enum field_kind { FIELD_TEXT, FIELD_SECRET, FIELD_NUMBER, FIELD_BOOLEAN };

static const struct field {
    enum field_kind kind;
    size_t offset;
} fields[] = {
#define FIELD(kind, name)                                                                                    \
    {                                                                                                        \
        kind, offsetof(struct worker_settings, name)                                                         \
    }
    FIELD(FIELD_NUMBER, mode),
    FIELD(FIELD_TEXT, config_path),
    FIELD(FIELD_TEXT, config_source),
    FIELD(FIELD_SECRET, startup_text),
    FIELD(FIELD_SECRET, database.url),
    FIELD(FIELD_TEXT, database.file),
    FIELD(FIELD_TEXT, database.source),
    FIELD(FIELD_SECRET, metrics_database.url),
    FIELD(FIELD_TEXT, metrics_database.file),
    FIELD(FIELD_TEXT, metrics_database.source),
    FIELD(FIELD_NUMBER, database_timeout_ms),
    FIELD(FIELD_NUMBER, reconcilers),
    FIELD(FIELD_NUMBER, poll_interval_ms),
    FIELD(FIELD_NUMBER, lease_duration_ms),
    FIELD(FIELD_NUMBER, max_attempts),
    FIELD(FIELD_NUMBER, convergence_timeout_ms),
    FIELD(FIELD_NUMBER, drain_timeout_ms),
    FIELD(FIELD_NUMBER, start_timeout_ms),
    FIELD(FIELD_NUMBER, recycle_passes),
    FIELD(FIELD_NUMBER, recycle_age_ms),
    FIELD(FIELD_TEXT, readiness_path),
    FIELD(FIELD_TEXT, liveness_path),
    FIELD(FIELD_TEXT, docker_socket),
    FIELD(FIELD_BOOLEAN, metrics_enabled),
    FIELD(FIELD_TEXT, metrics_host),
    FIELD(FIELD_NUMBER, metrics_port),
#undef FIELD
};

_Static_assert(sizeof(enum settings_mode) == sizeof(int), "a mode is stored as a number");

/* The file: this, then each field as a length and so many bytes. */
struct header {
    char magic[8];
    uint32_t size; /* of the whole file */
    uint32_t sum;  /* of what follows */
};

static const char magic[8] = "OCCSNAP1";

#define ABSENT UINT32_MAX /* the length of a NULL */

/* FNV-1a: finds accidents, and nobody else can write here. */
static uint32_t sum_of(const unsigned char *bytes, size_t length)
{
    uint32_t sum = 2166136261;

    while (length--)
        sum = (sum ^ *bytes++) * 16777619;
    return sum;
}

/* A field's bytes; NULL when it is absent. */
static const void *field_bytes(const struct worker_settings *settings, const struct field *field,
                               size_t *length)
{
    const void *place = (const char *)settings + field->offset;

    switch (field->kind) {
    case FIELD_TEXT: {
        const char *text = *(const char *const *)place;

        *length = text ? strlen(text) : 0;
        return text;
    }
    case FIELD_SECRET: {
        const struct secret *secret = *(const struct secret *const *)place;

        *length = secret ? secret_length(secret) : 0;
        return secret ? secret_expose(secret) : NULL;
    }
    case FIELD_NUMBER:
        *length = sizeof(int);
        return place;
    case FIELD_BOOLEAN:
        *length = sizeof(bool);
        return place;
    }
    abort();
}

/* Puts all fields to `target`, or only counts when it is NULL. Returns the number of bytes. */
static size_t put_fields(const struct worker_settings *settings, unsigned char *target)
{
    size_t size = 0, index;

    for (index = 0; index < COUNT_OF(fields); index++) {
        size_t length;
        const void *bytes = field_bytes(settings, &fields[index], &length);
        uint32_t told = bytes ? (uint32_t)length : ABSENT;

        if (target) {
            memcpy(target + size, &told, sizeof told);
            if (length)
                memcpy(target + size + sizeof told, bytes, length);
        }
        size += sizeof told + length;
    }
    return size;
}

static bool write_all(int fd, const unsigned char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

bool snapshot_write(const struct worker_settings *settings, int *fd, struct fault *fault)
{
    size_t size = sizeof(struct header) + put_fields(settings, NULL);
    struct header header = {.size = (uint32_t)size};
    unsigned char *bytes;
    bool written;
    int file, error;

    if (size > SIZE_MOST)
        return fault_set(fault, FAULT_BUG, "SNAPSHOT_INVALID", "the settings' snapshot has %zu bytes", size);
    file = memfd_create("occ-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return fault_set(fault, FAULT_RETRYABLE, "SNAPSHOT_FAILED", "no memory file for the settings: %s",
                         strerror(errno));
    bytes = mem_array(NULL, unsigned char, size);
    put_fields(settings, bytes + sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.sum = sum_of(bytes + sizeof header, size - sizeof header);
    memcpy(bytes, &header, sizeof header);
    written = write_all(file, bytes, size) && fcntl(file, F_ADD_SEALS, SEALS) == 0;
    error = errno;
    secret_wipe(bytes, size);
    talloc_free(bytes);
    if (written) {
        *fd = file;
        return true;
    }
    (void)close(file);
    return fault_set(fault, FAULT_RETRYABLE, "SNAPSHOT_FAILED",
                     "the settings' memory file cannot be written: %s", strerror(error));
}

/* Takes one field's bytes into the settings; false when they do not fit its kind. */
static bool take_field(struct worker_settings *settings, const struct field *field, const char *bytes,
                       size_t length)
{
    void *place = (char *)settings + field->offset;

    switch (field->kind) {
    case FIELD_TEXT:
        if (bytes && memchr(bytes, '\0', length))
            return false;
        *(const char **)place = bytes ? mem_text_part(settings, bytes, length) : NULL;
        return true;
    case FIELD_SECRET:
        *(const struct secret **)place = bytes ? secret_new(settings, bytes, length) : NULL;
        return true;
    case FIELD_NUMBER:
        if (!bytes || length != sizeof(int))
            return false;
        memcpy(place, bytes, length);
        return true;
    case FIELD_BOOLEAN:
        if (!bytes || length != sizeof(bool) || (unsigned char)*bytes > 1)
            return false;
        memcpy(place, bytes, length);
        return true;
    }
    return false;
}

static bool take_fields(struct worker_settings *settings, const unsigned char *bytes, size_t size)
{
    size_t at = 0, index;

    for (index = 0; index < COUNT_OF(fields); index++) {
        uint32_t length;
        bool absent;

        if (size - at < sizeof length)
            return false;
        memcpy(&length, bytes + at, sizeof length);
        at += sizeof length;
        absent = length == ABSENT;
        length = absent ? 0 : length;
        if (length > size - at ||
            !take_field(settings, &fields[index], absent ? NULL : (const char *)bytes + at, length))
            return false;
        at += length;
    }
    return at == size && (settings->mode == MODE_DEVELOPMENT || settings->mode == MODE_PRODUCTION);
}

/* Reads without moving the offset, which all children share. */
static bool read_whole(int fd, unsigned char *bytes, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t got = pread(fd, bytes + at, size - at, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool take_snapshot(struct worker_settings *settings, int fd, size_t size)
{
    unsigned char *bytes = mem_array(settings, unsigned char, size);
    struct header header;
    bool taken = read_whole(fd, bytes, size);

    memcpy(&header, bytes, sizeof header);
    taken = taken && memcmp(header.magic, magic, sizeof magic) == 0 && header.size == size &&
            header.sum == sum_of(bytes + sizeof header, size - sizeof header) &&
            take_fields(settings, bytes + sizeof header, size - sizeof header);
    secret_wipe(bytes, size);
    talloc_free(bytes);
    return taken;
}

bool snapshot_read(const void *context, int fd, struct worker_settings **settings, struct fault *fault)
{
    struct worker_settings *read;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS)
        return fault_set(fault, FAULT_BUG, "SNAPSHOT_INVALID", "descriptor %d holds no sealed snapshot", fd);
    if (fstat(fd, &status) < 0 || status.st_size < (off_t)sizeof(struct header) || status.st_size > SIZE_MOST)
        return fault_set(fault, FAULT_BUG, "SNAPSHOT_INVALID",
                         "the snapshot at descriptor %d has no valid size", fd);
    read = mem_new(context, struct worker_settings);
    if (!take_snapshot(read, fd, (size_t)status.st_size)) {
        talloc_free(read);
        return fault_set(fault, FAULT_BUG, "SNAPSHOT_INVALID", "the snapshot at descriptor %d is not whole",
                         fd);
    }
    *settings = read;
    return true;
}
