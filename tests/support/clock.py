# SPDX-License-Identifier: MIT
"""A time of day that a test sets, for one program and all that it starts: in a mount namespace of its own (as root)."""

import mmap
import struct
import subprocess

from . import tree

PRELOADED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

__attribute__((constructor)) static void begin(void)
{
    int file = open(SHIFT, O_RDONLY | O_CLOEXEC);
    void *at = file >= 0 ? mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;

    if (file >= 0)
        close(file);
    shift = at == MAP_FAILED ? NULL : at;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int done = (int)syscall(SYS_clock_gettime, clock, now);

    if (done == 0 && clock == CLOCK_REALTIME && shift)
        now->tv_sec += *shift;
    return done;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (where)
        *where = exact.tv_sec;
    return exact.tv_sec;
}
"""


class Clock:
    """`command` runs a program under it; set(seconds) moves its time of day, at once and for all its processes."""

    def __init__(self, folder, name):
        library, source, shift, etc = (folder / part for part in ("clock.so", "clock.c", "shift", "etc"))
        source.write_text(PRELOADED)
        shift.write_bytes(bytes(8))
        shift.chmod(0o644)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", f'-DSHIFT="{shift}"', "-o", str(library), str(source)], check=True
        )
        # An environment would not reach the children.
        script = f'cp -a /etc {etc} && echo {library} > {etc}/ld.so.preload && mount --bind {etc} /etc && exec "$@"'
        self.command = ("/usr/bin/unshare", "--mount", "--", "/bin/sh", "-c", script, "sh", tree.program(name))
        with open(shift, "r+b") as file:
            self._shift = mmap.mmap(file.fileno(), 8)

    def set(self, seconds):
        """So far from the machine's own."""
        self._shift[:8] = struct.pack("=q", seconds)
