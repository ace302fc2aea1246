# SPDX-License-Identifier: MIT
"""Programs to which the machine's name resolution looks otherwise: in a mount namespace of their own (as root)."""

from . import tree


def _instead(name, *files):
    """The command that runs a program with these (file, path in its place) bound."""
    binds = " && ".join(f"mount --bind {file} {path}" for file, path in files)
    return ("/usr/bin/unshare", "--mount", "--", "/bin/sh", "-c", f'{binds} && exec "$@"', "sh", tree.program(name))


def files_only(folder, name):
    """Names are those of /etc/hosts: no other exists."""
    switch = folder / "nsswitch.conf"
    switch.write_text("passwd: files\ngroup: files\nhosts: files\n")
    return _instead(name, (switch, "/etc/nsswitch.conf"))


def away(folder, name):
    """There is a name server, and it does not answer."""
    switch, servers = folder / "nsswitch.conf", folder / "resolv.conf"
    switch.write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    servers.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    return _instead(name, (switch, "/etc/nsswitch.conf"), (servers, "/etc/resolv.conf"))
