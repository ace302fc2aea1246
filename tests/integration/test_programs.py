# SPDX-License-Identifier: MIT
"""What all programs have in common."""

import re
import resource
import socket
import subprocess

import pytest

from support import tree
from support.program import environment, run

PROGRAMS = ("occ-worker", "occ-migrate", "occ-bootstrap", "occctl")


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_needs_no_setting(name):
    done = run(name, "--help").ok()
    assert done.out.startswith(f"Usage: {name} ") and done.err == ""
    assert max(map(len, done.lines)) <= 100


@pytest.mark.parametrize("name", PROGRAMS)
def test_version_is_the_builds(name):
    version = re.search(r"AC_INIT\(\[[^]]*\],\[([^]]*)\]", (tree.SOURCE / "configure.ac").read_text())[1]
    assert run(name, "--version").ok().out.split()[-1] == version


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["--no-such-flag=1"], ["--check=maybe"], ["-Z"]])
def test_an_unknown_flag_is_named_and_a_usage_error(name, arguments):
    done = run(name, *(["status"] if name == "occctl" else []), *arguments)
    assert done.status == 2 and done.out == "", done
    assert arguments[0].partition("=")[0] in done.err


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_flag_for_a_secret_does_not_exist(name):
    told = run(name, "--help").ok().out
    flags = set(re.findall(r"--[a-z-]+", told))
    assert not [flag for flag in flags if re.search(r"password|key|token|secret|url", flag) and not flag.endswith("-file")]


# K68
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_leaves_its_secrets_in_a_core_or_its_environment(name, folder):
    """Caught while each waits for a database that does not answer."""
    key = folder / "key.json"
    key.write_text(KEY_FILE)
    key.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        url = f"postgresql://occ_app:pw-7f3e@127.0.0.1:{silent.getsockname()[1]}/occ"
        env = {
            "NODE_ENV": "development",
            "OCC_DATABASE_URL": url,
            "OCC_MIGRATION_DATABASE_URL": url,
            "OCC_BOOTSTRAP_PASSWORD_FILE": folder / "password",
            "OCC_BOOTSTRAP_SERVICE_KEY_FILE": folder / "new-key.json",
            "OCC_SERVICE_KEY_FILE": key,
        }
        if name == "occ-migrate":
            del env["OCC_DATABASE_URL"]
        else:
            del env["OCC_MIGRATION_DATABASE_URL"]
        process = subprocess.Popen(
            [tree.program(name), *(["status"] if name == "occctl" else [])],
            env=environment(env),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)),
        )
        try:
            connection, _ = silent.accept()
            with open(f"/proc/{process.pid}/limits", encoding="ascii") as file:
                core = next(line for line in file if line.startswith("Max core file size"))
            assert core.split()[4:6] == ["0", "0"]
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                assert b"7f3e" not in file.read()
            connection.close()
        finally:
            process.kill()
            process.wait()


KEY_FILE = (
    '{"data": {"id": "i", "servicePrincipalId": "p", "name": "n", "expiresAt": "2999-01-01T00:00:00.000Z", "key": "occ_sk_'
    + "A" * 43
    + '"}, "meta": {"installationId": "ins_11111111-1111-4111-8111-111111111111"}}'
)
