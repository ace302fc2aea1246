/* SPDX-License-Identifier: MIT
 *
 * With a POSIX access list the group's bits of a mode are the list's mask, not the group's rights: a
 * credential that systemd gives to a service's user (LoadCredential) shows 0440 although the group may read
 * nothing. So the list itself is read where there is one (format: linux/posix_acl_xattr.h, version 2, little
 * endian).
 */
#include "lib/base/build.h"

#include "lib/io/files.h"

#include <endian.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_VERSION 2
#define ACL_USER 0x02
#define ACL_GROUP_OWNER 0x04
#define ACL_GROUP 0x08
#define ACL_MASK 0x10
#define ACL_OTHER 0x20

struct acl_entry {
    uint16_t tag;
    uint16_t rights;
    uint32_t id;
};

struct acl {
    uint32_t version;
    struct acl_entry entries[64];
};

/* Whether an entry is about somebody who is neither the owner, root nor us. */
static bool is_others(const struct acl_entry *entry)
{
    switch (le16toh(entry->tag)) {
    case ACL_USER:
        return le32toh(entry->id) != 0 && le32toh(entry->id) != geteuid();
    case ACL_GROUP_OWNER:
    case ACL_GROUP:
    case ACL_OTHER:
        return true;
    default:
        return false;
    }
}

bool file_is_open_to_others(int fd, mode_t mode, mode_t asked)
{
    struct acl acl;
    ssize_t size;
    size_t count;
    uint16_t wanted = (uint16_t)(asked & 7);
    uint16_t mask = 7;
    uint16_t found = 0;

    if (!(mode & asked))
        return false; /* the mask allows nothing, whatever the list says */
    size = fgetxattr(fd, "system.posix_acl_access", &acl, sizeof acl);
    if (size < (ssize_t)sizeof acl.version || le32toh(acl.version) != ACL_VERSION)
        return true; /* no list: the mode tells all. One that is too long for us counts as open. */
    count = ((size_t)size - sizeof acl.version) / sizeof acl.entries[0];
    for (size_t i = 0; i < count; i++) {
        if (le16toh(acl.entries[i].tag) == ACL_MASK)
            mask = le16toh(acl.entries[i].rights);
        else if (is_others(&acl.entries[i]))
            found |= le16toh(acl.entries[i].rights);
    }
    /* The mask bounds all but "other", whose rights stand in the mode as they are. */
    return (found & mask & wanted) || (mode & asked & S_IRWXO);
}
