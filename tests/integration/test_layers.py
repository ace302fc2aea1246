# SPDX-License-Identifier: MIT
"""The arrows between the layers and the other rules of the tree; each checker is tried on a wrong example first."""

import subprocess

import pytest

from support import sources, tree


def test_includes_point_downwards_only():
    assert sources.wrong_includes(sources.texts(".c", ".h")) == []


@pytest.mark.parametrize(
    "path, include, complaint",
    [
        ("lib/base/a.c", '"lib/io/pg.h"', "upwards"),
        ("lib/store/a.c", '"lib/iam/decision.h"', "upwards"),
        ("lib/admit/a.c", '"src/ctl/table.h"', "upwards"),
        ("lib/docker/a.c", '"lib/kubernetes/client.h"', "sideways"),
        ("lib/filesystem/a.h", '"lib/docker/network.h"', "sideways"),
        ("src/worker/a.c", '"src/ctl/table.h"', "sideways"),
        ("lib/kubernetes/api/a.c", '"lib/kubernetes/object/name.h"', "upwards"),
        ("lib/kubernetes/tenant/a.h", '"lib/kubernetes/agent/intent.h"', "upwards"),
        ("lib/kubernetes/agent/a.c", '"lib/kubernetes/driver.h"', "upwards"),
        ("lib/docker/a.c", '"lib/store/work.h"', "must not know"),
        ("lib/driver/a.h", '"lib/store/work.h"', "must not know"),
        ("lib/reconcile/a.c", '"lib/docker/network.h"', "must not know"),
        ("lib/admit/a.c", '"lib/catalog/catalog.h"', "must not know"),
        ("lib/driver/a.h", '"include/occ/driver.h"', "alone"),
        ("lib/store/a.c", '"work.h"', "from the top"),
        ("lib/store/a.c", '"config.h"', "only lib/base/build.h"),
        ("lib/docker/a.c", "<curl/curl.h>", "only lib/io/"),
        ("lib/store/a.c", "<libpq-fe.h>", "only lib/io/"),
        ("lib/store/a.c", '"tests/unit/fake.h"', "tests"),
        ("contrib/a/a.c", '"lib/base/text.h"', "alone"),
    ],
)
def test_a_wrong_include_is_found(path, include, complaint):
    (found,) = sources.wrong_includes({path: f"#include {include}\n"})
    assert complaint in found


@pytest.mark.parametrize(
    "path, include",
    [
        ("lib/base/text.c", '"lib/base/text.h"'),
        ("lib/base/build.h", '"config.h"'),
        ("lib/docker/network.c", '"lib/driver/compute.h"'),
        ("lib/kubernetes/agent/a.c", '"lib/kubernetes/tenant/tenant.h"'),
        ("lib/kubernetes/tenant/a.h", '"lib/kubernetes/settings.h"'),
        ("lib/kubernetes/driver.c", '"lib/kubernetes/agent/operations.h"'),
        ("lib/reconcile/pass.c", '"lib/driver/compute.h"'),
        ("lib/package/compute.c", '"include/occ/driver.h"'),
        ("lib/io/http.c", "<curl/curl.h>"),
        ("src/ctl/main.c", '"lib/admit/namespace.h"'),
        ("contrib/a/a.c", "<occ/driver.h>"),
        ("tests/unit/base/test_text.c", '"lib/base/text.h"'),
    ],
)
def test_a_right_include_is_not(path, include):
    assert sources.wrong_includes({path: f"#include {include}\n"}) == []


def test_a_folder_without_a_layer_is_found():
    with pytest.raises(AssertionError, match="no layer"):
        sources.wrong_includes({"lib/misc/a.c": ""})


def test_every_source_file_bans_unsafe_calls_first():
    assert sources.without_build_header(sources.texts(".c")) == []
    assert sources.without_build_header({"lib/a/b.c": '#include <stdio.h>\n#include "lib/base/build.h"\n'})
    assert sources.without_build_header({"lib/a/b.c": "int x;\n"})


def test_sql_is_in_the_store_only():
    assert sources.stray_sql(sources.texts(".c", ".h")) == []
    assert sources.stray_sql({"lib/admit/a.c": 'q = "select name "\n    "from occ.namespaces";\n'})
    assert sources.stray_sql({"src/ctl/a.c": 'q = "UPDATE occ.controller_work set x = 1";\n'})
    assert not sources.stray_sql({"lib/store/a.c": 'q = "select 1 from occ.installation";\n'})
    assert not sources.stray_sql({"lib/config/a.c": '/* select */ path = "occ.cluster";\n'})


def test_every_file_names_its_licence():
    assert sources.without_licence(sources.texts(*sources.WITH_LICENCE)) == []
    scripts = {path: (tree.SOURCE / path).read_text() for path in sources.paths() if _is_script(path)}
    assert scripts and sources.without_licence(scripts) == []
    assert sources.without_licence({"a.c": "\n\n\n/* SPDX-License-Identifier: MIT */\n"})


def _is_script(path):
    with open(tree.SOURCE / path, "rb") as file:
        return file.read(2) == b"#!"


def test_files_and_functions_are_short():
    assert sources.too_long(sources.texts(".c", ".h", ".py", ".sql")) == []
    assert sources.too_long({"a.c": "x\n" * 801})
    assert sources.too_long({"a.c": "void f(void)\n{\n" + "    x();\n" * 81 + "}\n"})
    assert not sources.too_long({"a.c": "void f(void)\n{\n" + "    x();\n" * 80 + "}\n" + "x\n" * 700})


def test_every_source_is_in_the_distribution():
    makefiles = sources.texts(".inc", ".am")
    files = [path for path in sources.texts(".c", ".h", ".sql") if path.startswith(("lib/", "src/"))]
    assert files and sources.unlisted(files, makefiles) == []
    assert sources.unlisted(["lib/a/b.c"], {"m": "x_SOURCES = lib/a/b.h lib/a/b.cc"})
    assert not sources.unlisted(["lib/a/b.c"], {"m": "x_SOURCES = lib/a/b.c"})


def test_sources_are_formatted():
    files = [path for path in sources.paths() if path.endswith((".c", ".h"))]
    done = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", *files], cwd=tree.SOURCE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]


def test_shell_scripts_parse():
    for path in sources.paths():
        if _is_script(path):
            with open(tree.SOURCE / path, encoding="utf-8") as file:
                shell = file.readline().split("/")[-1].split()[-1]
            if shell in ("sh", "bash"):
                subprocess.run([shell, "-n", tree.SOURCE / path], check=True)


def test_python_is_clean():
    files = [tree.SOURCE / path for path in sources.paths() if path.endswith(".py")]
    done = subprocess.run(["/usr/bin/python3", "-m", "pyflakes", *files], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
