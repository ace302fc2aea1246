# SPDX-License-Identifier: MIT
"""occ-runtime-image(7) says what the Pods have: no variable, port, path or limit more or less."""

import re
import subprocess

import pytest
from support import tree
from support.drivers import new_agent, new_namespace, new_revision
from support.intents import Intents, Unconnected, container, find, variables

PAGE = tree.SOURCE / "man" / "occ-runtime-image.7"
PLACE = {"secretId": "sec_1", "driverId": "secret-kubernetes", "namespaceId": "ns_1"}
BOUND = "BOUND_SECRET"


@pytest.fixture(scope="module")
def page():
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", PAGE], capture_output=True, text=True, check=True)
    return re.sub(".\b", "", done.stdout)


@pytest.fixture(scope="module")
def workloads(tmp_path_factory):
    """The Deployments in every form: {(harness, mode, method): (gateway, Harness or None)}"""
    startup = Unconnected().startup(
        tmp_path_factory.mktemp("startup") / "installation.yaml",
        drivers__compute__configuration__network__pluginStatusProxySourceCidrs=["10.1.0.0/24"],
    )
    intents = Intents(startup)
    made = {}
    for harness, mode in (("openclaw", "embedded"), ("codex", "dedicated"), ("openclaw", "dedicated")):
        for method in ("api_key", "chatgpt_service_account"):
            revision = new_revision(harness=harness, mode=mode, secret=PLACE, bindings=[{"name": BOUND, **PLACE}])
            revision["harnessAuth"] = {"method": method}
            if method != "api_key":
                revision["harnessAuth"]["serviceAccountId"] = "svc_1"
            objects = intents.objects(namespace=new_namespace(), agent=new_agent(), revision=revision)
            harnesses = [find(objects, "Deployment", "harness-")] if mode == "dedicated" else []
            made[harness, mode, method] = (find(objects, "Deployment", "gateway-"), *harnesses)
    intents.close()
    return made


def documented():
    """{subsection of ENVIRONMENT: names}, from the page's source."""
    text = PAGE.read_text().partition(".Sh ENVIRONMENT\n")[2].partition("\n.Sh ")[0]
    parts = re.split(r"^\.Ss (.*)\n", text, flags=re.M)
    return {
        title.removeprefix("\\&"): {name for line in re.findall(r"^\.It Ev (.*)$", part, re.M) for name in line.split(" , ")}
        for title, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def told(workloads, role, mode):
    """(names that all such containers have, names that any has)"""
    found = [
        set(variables(deployment)) - {BOUND}
        for (_, its_mode, _), deployments in workloads.items()
        for deployment in deployments
        if its_mode == mode and variables(deployment)["OPENCLAW_WORKLOAD_ROLE"] == role
    ]
    return set.intersection(*found), set.union(*found)


def test_every_variable_is_documented_where_it_is(workloads):
    page = documented()
    everywhere = page["In every container"]
    harness = page["In the Harness"]
    assert told(workloads, "gateway", "embedded")[1] == everywhere | page["In a gateway"] | harness
    assert told(workloads, "gateway", "dedicated")[1] == everywhere | page["In a gateway"] | page["In a dedicated gateway"]
    assert told(workloads, "agent", "dedicated")[1] == everywhere | harness | page["In a dedicated Harness"]
    every_container = [told(workloads, *which)[0] for which in (("gateway", "embedded"), ("gateway", "dedicated"), ("agent", "dedicated"))]
    assert set.intersection(*every_container) == everywhere
    assert BOUND in variables(workloads["openclaw", "embedded", "api_key"][0])
    assert BOUND not in variables(workloads["codex", "dedicated", "api_key"][0])


def test_no_secret_is_a_plain_value(workloads):
    secret = {"OPENCLAW_GATEWAY_PASSWORD", "OPENCLAW_APP_SERVER_TOKEN", "OPENCLAW_MODEL_CREDENTIAL", BOUND}
    for deployments in workloads.values():
        for deployment in deployments:
            values = variables(deployment)
            assert {name for name, value in values.items() if isinstance(value, tuple)} == secret & set(values)


def test_ports_paths_and_limits_are_documented(workloads, page):
    gateway, harness = workloads["codex", "dedicated", "api_key"]
    assert [port["containerPort"] for port in container(harness)["ports"]] == [8787]
    assert "which is 8787" in page
    assert variables(gateway)["OPENCLAW_GATEWAY_PORT"] == str(container(gateway)["ports"][0]["containerPort"])
    for deployment in (gateway, harness):
        pod, only = deployment["spec"]["template"]["spec"], container(deployment)
        for mount in only["volumeMounts"]:
            assert mount["mountPath"] in page
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert only[probe]["httpGet"]["path"] in page
        user = pod["securityContext"]
        assert {user["runAsUser"], user["runAsGroup"], user["fsGroup"]} == {65532}
        assert f"{pod['terminationGracePeriodSeconds']} seconds later it is killed" in page
        assert f"within {only['startupProbe']['failureThreshold'] * only['startupProbe']['periodSeconds']} seconds of the start" in page
        assert f"asked each {only['livenessProbe']['periodSeconds']} seconds" in page
        assert {only[probe]["failureThreshold"] for probe in ("livenessProbe", "readinessProbe")} == {3}
        assert {only[probe]["timeoutSeconds"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {3}
        assert "It is asked each two seconds" in page and only["readinessProbe"]["periodSeconds"] == 2
        (temporary,) = [volume["emptyDir"] for volume in pod["volumes"] if "emptyDir" in volume]
        assert temporary == {"sizeLimit": "1Gi"} and "at most 1 GiB" in page
    for size in ("10 GiB for a gateway", "40 GiB for a dedicated Harness"):
        assert size in page
    assert "user and group 65532" in page
