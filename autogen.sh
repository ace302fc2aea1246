#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes `configure` from a fresh checkout.
set -e
cd "$(dirname "$0")"
for program in autoreconf automake pkg-config; do
    command -v "$program" >/dev/null 2>&1 || {
        echo "autogen.sh: $program is missing; Debian: apt-get install autoconf automake pkg-config;" \
             "Fedora: dnf install autoconf automake pkgconf-pkg-config" >&2
        exit 1
    }
done
exec autoreconf --install --force --warnings=all,no-obsolete
