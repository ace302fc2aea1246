# SPDX-License-Identifier: MIT
"""What a deployment freezes of a Configuration: the database's own JSON of exactly one generation."""

import json
import subprocess

import pytest

from support import tree
from support.configurations import waiting
from support.operator import in_background
from support.program import environment, run

CONFLICT, NOT_FOUND = 11, 10


def arguments(configurations, identifier, level="warn"):
    database = configurations.database
    return [database.key_file, configurations.root, configurations.namespace, identifier, level]


def probe(configurations, identifier, **more):
    return run(
        str(tree.BUILD / "tests/integration/configuration_probe"),
        *arguments(configurations, identifier, **more),
        env={"PROBE_URL": configurations.database.app_url},
    ).ok().json


def test_numbers_are_kept_exactly(configurations, bootstrapped):
    numbers = ["1.10", "12345678901234567890", "1e5", "0.1", "-0.0", "1E-20", "123456789.123456789123456789", "1e400"]
    text = '{"n": [%s], "t": "\\u00e9 \\\\ \\ud83e\\udd8a"}' % ", ".join(numbers)
    made = configurations.made(text)
    assert configurations("get", made, "--document").ok().out == text
    frozen = probe(configurations, made)
    assert frozen["kind"] == "agent" and frozen["generation"] == 1 and frozen["bindings"] == "[]"
    # As the revision keeps it.
    kept = bootstrapped.one("select (%s::jsonb -> 'n')::text", frozen["draft"])
    assert kept == bootstrapped.one("select (%s::jsonb -> 'n')::text", text)
    assert kept.startswith("[1.10, 12345678901234567890, 100000, 0.1, 0.0, 0.00000000000000000001, 123456789.1234567891")
    for place, number in enumerate(numbers):
        same = "select (%s::jsonb -> 'n' ->> %s)::numeric = %s::numeric"
        assert bootstrapped.one(same, frozen["draft"], place, number), number
    assert json.loads(frozen["draft"])["t"] == "é \\ 🦊"


@pytest.mark.parametrize(
    "document, logging",
    [
        ("{}", {"level": "warn"}),
        ('{"logging": {}}', {"level": "warn"}),
        ('{"logging": {"file": "/x", "level": "debug"}}', {"file": "/x", "level": "warn"}),
        ('{"logging": {"level": {"deep": 1}}}', {"level": "warn"}),
    ],
)
def test_the_level_is_set(configurations, document, logging):
    assert json.loads(probe(configurations, configurations.made(document))["draft"]) == {"logging": logging}


def test_it_is_of_one_generation(configurations):
    made = configurations.made('{"a": 1}')
    secret = configurations.store.secret(configurations.namespace, name="one")
    configurations.update(made, '{"a": 2}', "--bind", "KEY=one").ok()
    frozen = probe(configurations, made)
    assert frozen["generation"] == 2 and json.loads(frozen["draft"])["a"] == 2
    source = {"kind": "secret", "namespaceId": configurations.namespace, "id": secret}
    assert json.loads(frozen["bindings"]) == [{"name": "KEY", "source": source}]


def test_an_update_waits_for_a_deployment(configurations, bootstrapped):
    made = configurations.made('{"a": 1}')
    env = environment({"PROBE_URL": bootstrapped.app_url, "PROBE_HOLD": "1"})
    command = [tree.BUILD / "tests/integration/configuration_probe", *arguments(configurations, made)]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        update = in_background(configurations.update, made, '{"a": 2}')
        waiting(bootstrapped, 1)
        assert configurations.path(made).read_text() == '{"a": 1}'
        out, _ = holder.communicate("", timeout=60)
    assert json.loads(out)["generation"] == 1
    assert update().ok().json["generation"] == 2


def test_what_cannot_be_frozen(configurations, bootstrapped):
    made = configurations.made()
    elsewhere = configurations.store.configuration(bootstrapped.namespace("default")["id"])
    for identifier in (elsewhere, "cfg_11111111-1111-4111-8111-111111111111"):
        refusal = probe(configurations, identifier)
        assert (refusal["class"], refusal["code"]) == (NOT_FOUND, "CONFIGURATION_NOT_FOUND")
    configurations.path(made).write_text('{"key": "hunter2"}')
    refusal = probe(configurations, made)
    assert (refusal["class"], refusal["code"]) == (CONFLICT, "CONFIGURATION_DOCUMENT_INVALID")
    assert "/key" in refusal["message"] and "DOCUMENT_CREDENTIAL" in refusal["message"]
    assert made in refusal["message"] and "hunter2" not in refusal["message"]
    configurations.path(made).unlink()
    refusal = probe(configurations, made)
    assert (refusal["class"], refusal["code"]) == (NOT_FOUND, "CONFIGURATION_DOCUMENT_MISSING")


def mismatch(configurations, identifier, generation):
    refusal = probe(configurations, identifier)
    assert (refusal["class"], refusal["code"]) == (CONFLICT, "CONFIGURATION_DOCUMENT_MISMATCH"), refusal
    assert identifier in refusal["message"] and f"generation {generation}" in refusal["message"]


def test_a_text_of_no_generation(configurations):
    """What was not committed, or was written by hand, does not pass for a generation's text."""
    made = configurations.made('{"a": 1}')
    configurations.store.secret(configurations.namespace, name="one")
    configurations.path(made).write_text('{"a": 2}')
    mismatch(configurations, made, 1)
    configurations("update", made, "--bind", "KEY=one").ok()
    mismatch(configurations, made, 2)
    shown = configurations("get", made, "--document").ok()
    assert shown.out == '{"a": 2}' and "CONFIGURATION_DOCUMENT_MISMATCH" in shown.err, shown.err
    configurations.path(made).write_text('{"a": 1}')
    shown = configurations("get", made, "--document").ok()
    assert (shown.out, shown.err) == ('{"a": 1}', "")
    assert probe(configurations, made)["generation"] == 2
    configurations.path(made).write_text('{"a": 2}')
    configurations.update(made, '{"a": 3}').ok()
    assert json.loads(probe(configurations, made)["draft"])["a"] == 3


def test_writers_that_say_no_digest(configurations):
    """The schema is shared: a row without a digest, or with that of an earlier generation, is taken at its word."""
    made = configurations.made('{"a": 1}')
    configurations.path(made).write_text('{"a": 2}')
    configurations.store.run("update occ.configurations set generation = 2 where id = %s", made)
    assert probe(configurations, made)["generation"] == 2
    configurations.store.run("update occ.configurations set document_digest = null where id = %s", made)
    assert probe(configurations, made)["generation"] == 2
    configurations.store.secret(configurations.namespace, name="one")
    configurations("update", made, "--bind", "KEY=one").ok()
    assert configurations.row(made)["document_digest"] is None
    assert probe(configurations, made)["generation"] == 3
