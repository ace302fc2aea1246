# SPDX-License-Identifier: MIT
"""What contrib/kubernetes says is true of this worker. Whether it is enough, and not too much, test_end_to_end.py shows."""

import re
import subprocess

import pytest
from support import manifests, tree
from support.program import run

VERBS = {"get", "list", "create", "patch", "delete"}  # what lib/kubernetes/api/resource.h can do


def kinds():
    """{(group, resource): namespaced} of lib/kubernetes."""
    text = (tree.SOURCE / "lib/kubernetes/api/kind.c").read_text()
    text = re.sub(r"\bCORE\b", '""', text)
    found = re.findall(r'kubernetes_kind kubernetes_\w+ = \{\s*"\w+", "(\w+)", "([\w.]*)", \{[^}]*\}, (\w+)\}', text)
    return {(group, resource): namespaced == "true" for resource, group, namespaced in found}


def test_everything_stands_in_one_namespace_of_its_own():
    for document in manifests.everything():
        if document["kind"] in ("ServiceAccount", "Deployment"):
            assert document["metadata"]["namespace"] == manifests.SYSTEM
        for subject in document.get("subjects", []):
            assert subject["namespace"] == manifests.SYSTEM, document


def test_every_name_that_is_referred_to_exists():
    everything = manifests.everything()
    there = {(each["kind"], each["metadata"]["name"]) for each in everything}
    for each in everything:
        if "roleRef" in each:
            assert (each["roleRef"]["kind"], each["roleRef"]["name"]) in there
        for subject in each.get("subjects", []):
            assert (subject["kind"], subject["name"]) in there
    for name, pod in manifests.pods().items():
        assert ("ServiceAccount", pod["serviceAccountName"]) in there, name


def test_the_roles_name_what_the_drivers_speak_of_and_nothing_else():
    known = kinds()
    assert len(known) >= 13
    cluster, tenant = manifests.grants("occ-worker-cluster"), manifests.grants("occ-worker-tenant")
    for granted in (cluster, tenant, manifests.grants("occctl-cluster"), manifests.grants("occctl-tenant")):
        assert {(group, resource) for group, resource, _ in granted} <= set(known)
        assert {verb for _, _, verb in granted} <= VERBS
    # Reviews of one's own access are granted to everybody (system:basic-user).
    inside = {each for each, namespaced in known.items() if namespaced}
    assert {(group, resource) for group, resource, _ in tenant} == inside
    assert {(group, resource) for group, resource, _ in cluster} == {("", "namespaces")}
    assert set(known) - inside == {("", "namespaces"), ("authorization.k8s.io", "selfsubjectaccessreviews")}


def test_the_binder_gives_two_roles_and_nothing_else():
    rules = next(each for each in manifests.documents("binder-rights.yaml") if each["kind"] == "ClusterRole")["rules"]
    (binding,) = [rule for rule in rules if "bind" in rule["verbs"]]
    assert binding["verbs"] == ["bind"] and set(binding["resourceNames"]) == {"occ-worker-tenant", "occctl-tenant"}
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list", "create", "bind"}
    offered = {each["metadata"]["name"]: each["roleRef"]["name"] for each in manifests.documents("role-binding.yaml")}
    assert offered == {"occ-worker": "occ-worker-tenant", "occctl": "occctl-tenant"}
    script = (manifests.FOLDER / "binder").read_text()
    assert set(re.findall(r"bind (\S+) (\S+) ", script)) == {("BINDING", "ROLE"), *offered.items()}


@pytest.mark.parametrize("name", sorted(manifests.pods()))
def test_the_pods_are_restricted(name):
    """As "restricted" of Kubernetes' Pod Security Standards asks."""
    pod = manifests.pods()[name]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for volume in pod["volumes"]:
        assert set(volume) <= {"name", "configMap", "secret", "emptyDir"}
    for container in manifests.containers(pod):
        context = container["securityContext"]
        assert context == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert all(set(container["resources"][part]) == {"cpu", "memory"} for part in ("requests", "limits"))


def test_the_worker_knows_what_its_deployment_says():
    pod = manifests.pods()["occ-worker"]
    (worker,) = pod["containers"]
    manual = (tree.SOURCE / "man/occ-worker.8").read_text().replace("\\", "")
    variables = {each["name"]: each["value"] for each in worker["env"]}
    for name in variables:
        assert re.search(rf"\b{name}\b", manual), name
    assert variables["NODE_ENV"] == "production"
    assert int(variables["OCC_WORKER_DRAIN_TIMEOUT_MS"]) / 1000 + 20 < pod["terminationGracePeriodSeconds"]

    mounted = {each["mountPath"] for each in worker["volumeMounts"]}
    for name, value in variables.items():
        if value.startswith("/"):
            assert value.rpartition("/")[0] in mounted, name
    options = run("occ-worker", "--help").ok().out
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        program, option, marker = worker[probe]["exec"]["command"]
        assert [program] == worker["command"] and re.search(rf"{option}\b", options)
        assert f"OCC_WORKER_{marker.upper()}_PATH" in variables


def listed(stage):
    """The packages that a stage of the Containerfile installs."""
    text = (manifests.FOLDER / "Containerfile").read_text().replace("\\\n", " ")
    part = re.search(rf"AS {stage}\n(.*?)(?=^FROM|\Z)", text, re.M | re.S)[1]
    words = re.search(r"--no-install-recommends ([^&\n]*)", part)[1].split()
    return set(words)


def test_the_image_has_the_packages_that_it_builds_from():
    script = (tree.SOURCE / "contrib/install-packages").read_text()
    assert listed("build") == set(re.search(r"^build=\((.*?)\)", script, re.M | re.S)[1].split())


def test_the_image_has_the_libraries_that_the_programs_load():
    needed = set()
    for program in ("occ-worker", "occ-migrate", "occ-bootstrap", "occctl"):
        read = subprocess.run(["readelf", "-d", tree.program(program)], capture_output=True, text=True, check=True).stdout
        needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", read))
    # What the sanitizers need is in no release.
    needed = {each for each in needed if not re.match(r"lib(asan|ubsan|lsan|tsan)\.", each)}
    asked = ["dpkg-query", "-S", *(f"*/{each}" for each in sorted(needed))]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    packages = {line.split(":")[0] for line in found.stdout.splitlines() if "diversion" not in line}
    assert listed("worker") == {each for each in packages if not each.startswith(("libc6", "libgcc"))}, needed
