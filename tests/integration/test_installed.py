# SPDX-License-Identifier: MIT
"""What the authors of installed Drivers get, and the packages of the test suite itself."""

import os
import re
import subprocess

import pytest
from support import tree
from support.scripted import PACKAGES, driver_folder


def pkg_config(*arguments, **variables):
    env = {"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(tree.BUILD), **variables}
    done = subprocess.run(["pkg-config", *arguments, "occ-driver"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pkg_config_knows_the_interface():
    header = (tree.SOURCE / "include/occ/driver.h").read_text()
    assert pkg_config("--variable=interface") == re.search(r"^#define OCC_DRIVER_INTERFACE (\d+)u$", header, re.M)[1]
    assert pkg_config("--variable=driverdir") == str(driver_folder())
    assert pkg_config("--cflags", PKG_CONFIG_SYSROOT_DIR="/elsewhere") == "-I/elsewhere/usr/local/include"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_one_function_and_needs_none_of_the_program(package):
    path = driver_folder() / f"{package}.so"
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    # A sanitized build adds its own.
    told = [line.split()[-1] for line in names.splitlines() if "asan" not in line and "odr" not in line]
    assert told == ["occ_driver_package"]
    status = os.stat(path)
    assert not status.st_mode & 0o022


def test_the_header_is_c_and_cpp(tmp_path):
    """Alone, with the strictest warnings, in the oldest C and C++ that it promises."""
    for compiler, standard, name in (("gcc", "c99", "a.c"), ("g++", "c++11", "a.cc")):
        if subprocess.run(["which", compiler], capture_output=True, check=False).returncode != 0:
            continue
        (tmp_path / name).write_text("#include <occ/driver.h>\nint unused;\n")
        done = subprocess.run(
            [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
             "-I", tree.SOURCE / "include", tmp_path / name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
