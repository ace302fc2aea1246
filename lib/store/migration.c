/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/migration.h"

void migration_hash(const struct migration *migration, char hash[MIGRATION_HASH_SIZE])
{
    hash_text(migration->sql, HASH_DIGITS, hash);
}

const char *migration_state_name(enum migration_state state)
{
    switch (state) {
    case MIGRATION_EMPTY:
        return "empty";
    case MIGRATION_BEHIND:
        return "behind";
    case MIGRATION_CURRENT:
        return "current";
    case MIGRATION_UNSUPPORTED:
        break;
    }
    return "unsupported";
}

static struct migration_status unsupported(const char *finding)
{
    return (struct migration_status){.state = MIGRATION_UNSUPPORTED, .finding = finding};
}

struct migration_status migration_compare(const void *context, const struct migration_record *history,
                                          size_t length)
{
    char hash[MIGRATION_HASH_SIZE];

    for (size_t i = 0; i < length; i++) {
        const struct migration_record *record = &history[i];

        if (record->number > migration_list_length)
            return unsupported(mem_format(context,
                                          "Migration %s is newer than this program, which knows %zu.",
                                          record->name, migration_list_length));
        if (record->number != i + 1)
            return unsupported(mem_format(context, "Migration %s was applied, but %s before it was not.",
                                          record->name, migration_list[i].name));
        if (!text_equal(record->name, migration_list[i].name))
            return unsupported(mem_format(context,
                                          "Migration %s is unknown; this program has %s in its place.",
                                          record->name, migration_list[i].name));
        migration_hash(&migration_list[i], hash);
        if (!text_equal(record->hash, hash))
            return unsupported(mem_format(
                context, "Migration %s was edited: the database received another text of it.", record->name));
    }
    return (struct migration_status){
        .state = length == 0                       ? MIGRATION_EMPTY
                 : length == migration_list_length ? MIGRATION_CURRENT
                                                   : MIGRATION_BEHIND,
        .applied = length,
    };
}
