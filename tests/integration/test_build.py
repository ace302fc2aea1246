# SPDX-License-Identifier: MIT
"""What the build promises to who builds and installs it."""

import re
import subprocess

import pytest

from support import tree

PROGRAMS = {"occ-worker": "sbin", "occ-migrate": "sbin", "occ-bootstrap": "sbin", "occctl": "bin"}
LIBRARIES = {
    "talloc": ("libtalloc-dev", "libtalloc-devel"),
    "libpq": ("libpq-dev", "libpq-devel"),
    "openssl": ("libssl-dev", "openssl-devel"),
    "libcurl": ("libcurl4-openssl-dev", "libcurl-devel"),
    "yaml-0.1": ("libyaml-dev", "libyaml-devel"),
    "libcjson": ("libcjson-dev", "cjson-devel"),
    "libsystemd": ("libsystemd-dev", "systemd-devel"),
    "libsodium": ("libsodium-dev", "libsodium-devel"),
}


def configure(folder, *arguments, **variables):
    return subprocess.run(
        [tree.SOURCE / "configure", *arguments, *(f"{name}={value}" for name, value in variables.items())],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_libraries_are_named_all_at_once_with_their_packages(tmp_path):
    done = configure(tmp_path, PKG_CONFIG_LIBDIR=tmp_path / "nothing")
    assert done.returncode != 0 and not (tmp_path / "Makefile").exists()
    for module, (debian, fedora) in LIBRARIES.items():
        assert re.search(rf"^  {re.escape(module)} .*\(Debian: {debian}, Fedora: {fedora}\)$", done.stderr, re.M), module


def test_every_library_is_in_the_table_above_and_is_installed_by_name():
    text = (tree.SOURCE / "configure.ac").read_text()
    named = re.findall(r"^OCC_LIBRARY\(\[\w+\], \[([\w.-]+)[^]]*\], \[([\w.-]+)\], \[([\w.-]+)\]\)$", text, re.M)
    assert {module: (debian, fedora) for module, debian, fedora in named} == LIBRARIES
    assert text.count("\nOCC_LIBRARY(") == len(named)
    script = (tree.SOURCE / "contrib" / "install-packages").read_text()
    build = re.search(r"^build=\(([^)]*)\)", script, re.M)[1].split()
    readme = (tree.SOURCE / "README.md").read_text().split()
    for debian, _ in LIBRARIES.values():
        assert debian in build and debian in readme, debian


def test_a_missing_pkg_config_is_named_with_its_packages(tmp_path):
    done = configure(tmp_path, PKG_CONFIG="no")
    assert done.returncode != 0
    assert "pkg-config is missing (Debian: pkg-config, Fedora: pkgconf-pkg-config)" in done.stderr


def test_a_missing_test_library_is_no_failure(tmp_path):
    """cmocka is for the tests only: without it the build goes on, and says what is missing."""
    blind = tmp_path / "pkg-config"
    blind.write_text('#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\nexec pkg-config "$@"\n')
    blind.chmod(0o755)
    done = configure(tmp_path, PKG_CONFIG=blind)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cmocka is missing.*Debian: libcmocka-dev, Fedora: libcmocka-devel", done.stdout + done.stderr)


@pytest.mark.parametrize(
    "switch, flag, there",
    [
        ("--enable-werror", "-Werror", True),
        ("--enable-sanitizers", "-fsanitize=address,undefined", True),
        ("--enable-debug", "-D_FORTIFY_SOURCE=2", False),
        ("--disable-hardening", "-fPIE", False),
        ("--enable-option-checking", "-D_FORTIFY_SOURCE=2", True),
        ("--enable-option-checking", "-fPIE", True),
    ],
)
def test_switches(tmp_path, switch, flag, there):
    done = configure(tmp_path, "-q", switch)
    assert done.returncode == 0, done.stderr
    makefile = (tmp_path / "Makefile").read_text()
    flags = re.findall(r"^OCC_(?:C|CPP|LD)FLAGS = (.*)$", makefile, re.M)
    assert (flag in " ".join(flags).split()) is there


def test_the_builders_flags_win(tmp_path):
    done = configure(tmp_path, "-q", CFLAGS="-O3 -Wno-shadow")
    assert done.returncode == 0, done.stderr
    dry = subprocess.run(
        ["make", "-n", "V=1", "lib/base/text.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert dry.index("-Wshadow") < dry.index("-O3 -Wno-shadow")


def test_another_driver_folder_is_built_in_without_a_clean(tmp_path):
    for folder in ("/first/drivers", "/second/drivers"):
        done = configure(tmp_path, f"--with-driverdir={folder}")
        assert done.returncode == 0, done.stderr
        done = subprocess.run(
            ["make", "-s", "lib/package/package.o"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert folder.encode() in (tmp_path / "lib/package/package.o").read_bytes()


def test_install_puts_everything_below_destdir(tmp_path):
    subprocess.run(["make", "-C", tree.BUILD, "-s", "install", f"DESTDIR={tmp_path}"], check=True, capture_output=True)
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    wanted = {f"usr/local/{folder}/{name}" for name, folder in PROGRAMS.items()}
    wanted |= {
        f"usr/local/share/man/man{page.rpartition('.')[2]}/{page}"
        for page in ("occ-worker.8", "occ-migrate.8", "occ-bootstrap.8", "occctl.1", "occ-installation.yaml.5", "occ-driver.7",
                     "occ-runtime-image.7")
    }
    wanted.add("usr/local/share/occ-worker/contrib/postgresql/roles.sql")
    wanted |= {"usr/local/include/occ/driver.h", "usr/local/lib/pkgconfig/occ-driver.pc"}
    assert wanted <= installed
    assert not [path for path in installed if "test" in path or "probe" in path or path.endswith(".a")]
    subprocess.run(["make", "-C", tree.BUILD, "-s", "uninstall", f"DESTDIR={tmp_path}"], check=True, capture_output=True)
    assert not [path for path in tmp_path.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_hardened_or_sanitized(name):
    """Position-independent, read-only relocations bound at start, no executable stack; or the build is for tests."""
    seen = subprocess.run(["readelf", "-Wdlh", tree.program(name)], capture_output=True, text=True, check=True).stdout
    if "libasan" in seen:
        assert "libubsan" in seen
        return
    assert "DYN (" in seen and "GNU_RELRO" in seen and ("BIND_NOW" in seen or re.search(r"FLAGS.*\bNOW\b", seen))
    assert not re.search(r"GNU_STACK .*\bRWE\b", seen)
