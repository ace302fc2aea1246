# SPDX-License-Identifier: MIT
"""A short storm (see storm.py, which runs a longer one by hand)."""

import sys

import pytest
from support.tree import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "faults"))

from storm import storm  # noqa: E402


# K01, K05, K06, K15, K24, K25, K37, K38, K48, K50, K59, K66, K68
def test_a_storm(own_cluster, folder):
    problems, made = storm(own_cluster, folder, seconds=15, seed=42, workers=2)
    assert not problems, "\n".join([str(dict(made.done)), *problems])
    assert made.done["rows"] > 20


# The same with what only the release build shows: that nobody grows.
@pytest.mark.release
def test_nobody_grows_in_a_storm(own_cluster, folder):
    problems, made = storm(own_cluster, folder, seconds=15, seed=7, workers=2)
    assert not problems, "\n".join([str(dict(made.done)), *problems])
    assert made.done["rows"] > 20


# The same on Agents, with the scripted Driver: K05, K06, K09, K15, K17, K38, K87, K89, K93
@pytest.mark.parametrize("seed", [5, 7])
def test_agents_in_a_storm(own_cluster, folder, seed):
    problems, made = storm(own_cluster, folder, seconds=15, seed=seed, workers=2, engine="scripted")
    assert not problems, "\n".join([str(dict(made.done)), *problems])
    assert made.done["activations"] > 5 and made.done["agents gone"] > 2 and made.done["operations"] > 100
