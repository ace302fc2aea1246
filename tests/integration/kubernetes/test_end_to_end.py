# SPDX-License-Identifier: MIT
"""The whole on a real cluster, in production mode, under exactly the rights that contrib/kubernetes gives."""

import json
import os
import re

import pytest
from support import manifests
from support.desk import SECRET, Caller, Desk
from support.kubernetes import Kubernetes
from support.production import AGENT, MANAGED, NAMESPACE, Production, digits
from support.tenant import CODEX, OPENCLAW
from support.waiting import poll

ROUTING = {
    "gatewayName": "oce-agent-gateways",
    "gatewayNamespace": "openclaw-system",
    "envoyNamespace": "envoy-gateway-system",
}
# As much of the Gateway API's definition as an API server needs to keep HTTPRoutes.
HTTP_ROUTES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: httproutes.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/gateway-api"}
spec:
  group: gateway.networking.k8s.io
  scope: Namespaced
  names: {kind: HTTPRoute, listKind: HTTPRouteList, plural: httproutes, singular: httproute}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


@pytest.fixture
def cluster_alone():
    """A cluster for this test alone, whose API and rights it may change."""
    made = Kubernetes(run=f"end-to-end-{os.getpid()}")
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def production(cluster_alone, worker, folder):
    made = Production(cluster_alone, worker, folder)
    yield made
    made.close()


class Story:
    """The steps of one Installation's life; each leaves what the next one needs."""

    def __init__(self, production, occctl, database, folder):
        self.at, self.cluster, self.database = production, production.kubernetes, database
        self.caller = Caller(occctl, database, folder, production.env)
        self.make_desk = lambda: Desk(occctl, database, folder, production.env)

    def id(self, name):
        return self.caller.run("namespace", "get", name)["id"]

    def revision(self, agent):
        return self.database.one("select active_revision_id from occ.agents where id = %s", agent)

    def change(self, kind, name, space, change):
        """Somebody changes an object of ours."""
        self.cluster.patch(kind, name, space, change)

    def fence(self, space):
        """What keeps Pods in bounds there, of ours: the objects."""
        kinds = "resourcequotas,limitranges,networkpolicies"
        shown = self.cluster.kubectl("-n", space, "get", kinds, "-l", MANAGED, "-o", "json")
        return json.loads(shown)["items"]

    # K114
    def namespaces_wait_for_their_rights(self):
        # What is made from now on is ours, but for the Installation's first Namespace, which is being made already.
        self.before = {each for each in self.at.ours("") if "oce-" not in each}
        levels = {f"pod-security.kubernetes.io/{each}": "restricted" for each in ("enforce", "audit", "warn")}
        self.existing = self.cluster.namespace("team-a", levels)
        self.cluster.kubectl("annotate", "namespace", self.existing, "openclaw.dev/namespace-lifecycle=external")
        managed = self.caller.follow("namespace", "create", "acme")
        adopted = self.caller.follow("namespace", "create", "adopted", "--existing-namespace", self.existing)
        for following, name in ((managed, "acme"), (adopted, "adopted")):
            following.wait_said("KUBERNETES_ACCESS_DENIED")
            assert self.caller.run("namespace", "get", name)["status"] == "provisioning"
        worker = self.at.rights.user("occ-worker")
        refused = {each["objectRef"]["namespace"] for each in self.cluster.audit(user=worker, code=403)}
        assert {self.at.data_space(self.id("acme")), self.existing} <= refused

        self.at.start_binder()
        managed.result().ok()
        # That one is not the binder's, and an administrator has not bound it yet.
        assert self.caller.run("namespace", "get", "adopted")["status"] == "provisioning"
        self.spoil_the_fence()
        self.at.rights.bind_by_hand(self.existing)
        adopted.result().ok()
        # The Installation's first one waited as well.
        poll(lambda: self.caller.run("namespace", "get", "default")["status"] == "ready", 30)
        self.rights_complete = self.cluster.mark()

    def spoil_the_fence(self):
        """What is to be made in the adopted namespace is there already, is ours, and says something else."""
        wrong = {"ResourceQuota": {"hard": {"pods": "1"}}, "LimitRange": {"limits": []}, "NetworkPolicy": {"ingress": [{}]}}
        for each in self.fence(self.at.data_space(self.id("acme"))):
            labels = {**each["metadata"]["labels"], NAMESPACE: self.id("adopted")}
            each["metadata"] = {"name": each["metadata"]["name"], "namespace": self.existing, "labels": labels}
            each["spec"].update({"egress": []} if "egress" in each["spec"] else wrong[each["kind"]])
            each.pop("status", None)
            self.cluster.apply(each)

    def namespaces_are_fenced(self):
        spaces = [self.at.data_space(self.id("acme")), self.existing]
        spaces += [self.at.gateway_space(self.id(name)) for name in ("acme", "adopted")]
        shapes = []
        for space in spaces:
            found = [(each["kind"], each["metadata"]["name"], json.dumps(each["spec"], sort_keys=True)) for each in self.fence(space)]
            shapes.append(sorted(found))
        assert [kind for kind, _, _ in shapes[0]] == ["LimitRange", "NetworkPolicy", "NetworkPolicy", "ResourceQuota"]
        assert all(shape == shapes[0] for shape in shapes), shapes

    def _serves(self, agent, space, roles):
        """The active revision, and nothing else, runs and answers; its id."""
        revision = self.revision(agent)
        assert self.at.answer(agent, space) == (200, revision)
        assert self.at.answer(agent, space, "readyz")[0] == 200
        wanted = {(role, revision): "Running" for role in roles}
        poll(lambda: self.at.pods(agent) == wanted, 60, what=f"{wanted} of {self.at.pods(agent)}")
        return revision

    def an_embedded_agent(self):
        self.desk = self.make_desk()
        self.support, self.data = self.desk.id, self.at.data_space(self.desk.namespace)
        self.gateways = self.at.gateway_space(self.desk.namespace)
        assert self.desk.deploy()["state"] == "running"
        first = self._serves(self.support, self.data, ["gateway"])
        path = self.desk.folder / "document.json"
        path.write_text(json.dumps({**OPENCLAW, "note": "second"}))
        self.desk.run("configuration", "update", self.desk.configuration, path)
        self.desk.deploy()
        assert self._serves(self.support, self.data, ["gateway"]) != first

    def secrets_are_kept(self):
        """Where the Namespace was adopted, too; what occctl kept the Agents find."""
        value = self.desk.folder / "value"
        self.adopted = self.desk.run("secret", "create", "other", "-n", "adopted", "--value-file", value)["id"]
        value.write_text("another one")
        self.desk.run("secret", "update", "other", "-n", "adopted", "--value-file", value)
        assert {each["metadata"]["namespace"] for each in self.cluster.list("secrets", selector="openclaw.dev/secret")} == {
            self.data, self.existing,
        }  # fmt: skip

    def what_was_changed_is_mended(self):
        name = f"gateway-{digits(self.support, 12)}"
        password = f"gateway-password-{digits(self.support, 12)}"
        right = self.cluster.get("secrets", password, self.gateways)["data"]
        self.change("serviceaccounts", name, self.data, {"automountServiceAccountToken": True})
        self.change("networkpolicies", name, self.data, {"spec": {"ingress": [{}]}})
        self.change("secrets", password, self.data, {"data": {"password": "eA=="}})
        self.desk.deploy()
        self._serves(self.support, self.data, ["gateway"])
        assert self.cluster.get("serviceaccounts", name, self.data)["automountServiceAccountToken"] is False
        assert self.cluster.get("networkpolicies", name, self.data)["spec"]["ingress"] != [{}]
        assert self.cluster.get("secrets", password, self.data)["data"] == right

    def a_dedicated_agent(self):
        configuration = self.desk.configure("coder", CODEX)
        self.coder = self.desk.draft("coder", "dedicated", configuration)
        assert self.desk.deploy(self.coder)["state"] == "running"
        first = self._serves(self.coder, self.gateways, ["gateway", "agent"])
        self.desk.deploy(self.coder)
        assert self._serves(self.coder, self.gateways, ["gateway", "agent"]) != first

    def routes(self):
        """gatewayRouting: without the API a failure that says so, with it an HTTPRoute."""
        self.at.reload(
            drivers__compute__configuration__network__gatewayClients=None,
            drivers__compute__configuration__gatewayRouting=ROUTING,
        )
        deploying = self.desk.follow("agent", "deploy", self.coder)
        deploying.wait_said("KUBERNETES_API_NOT_SERVED", 60)  # once the predecessor has ended
        self.cluster.apply(HTTP_ROUTES)
        deploying.result().ok()
        name = f"gateway-{digits(self.coder, 12)}"
        made = self.cluster.get("httproutes", name, self.gateways)
        assert made["spec"]["parentRefs"][0]["name"] == ROUTING["gatewayName"]
        self.change("httproutes", name, self.gateways, {"spec": {"hostnames": ["elsewhere.example"], "parentRefs": []}})
        self.desk.deploy(self.coder)
        assert self.cluster.get("httproutes", name, self.gateways)["spec"] == made["spec"]
        self._serves(self.coder, self.gateways, ["gateway", "agent"])

    def an_agent_is_stopped(self):
        assert self.desk.run("agent", "stop", self.coder, "--wait")["state"] == "stopped"
        assert self.at.pods(self.coder) == {} and self.at.answer(self.coder, self.gateways)[0] == 503
        # What it keeps stays until it is deleted.
        assert "PersistentVolumeClaim" in {each.split()[0] for each in self.at.ours(f"{AGENT}={self.coder}")}

    def everything_is_deleted(self):
        run = self.desk.run
        for agent in (self.support, self.coder):
            assert run("agent", "delete", agent, "--wait")["state"] == "deleted"
            assert self.at.ours(f"{AGENT}={agent}") == set()
        for each in run("configuration", "list", "-n", "acme"):
            run("configuration", "delete", each["id"])
        for secret in (self.desk.secret, self.adopted):
            run("secret", "delete", secret)
        for name in ("acme", "adopted", "default"):
            run("namespace", "delete", name, "--wait")

    def nothing_is_left(self):
        """K115: the adopted namespace stays, with its marks and what is not ours."""
        assert self.at.ours(MANAGED) == set()
        assert self.at.ours(NAMESPACE) == {f"Namespace /{self.existing}"}
        assert {each["metadata"]["name"] for each in self.cluster.list("rolebindings", self.existing)} == {"occ-worker", "occctl"}
        assert not [each for each in self.cluster.list("namespaces") if each["metadata"]["name"].startswith("oce-")]
        # Whatever its labels: a namespace of the cluster comes with these, volumes are offered again under other names, and a node's lease is its own.
        left = {each for each in self.at.ours("") - self.before if not each.startswith(("PersistentVolume ", "Lease "))}
        its_own = {each for each in left if re.match(rf"(ServiceAccount|ConfigMap|Secret|RoleBinding) {self.existing}/", each)}
        assert {each.partition("-token-")[0] for each in its_own} <= {
            f"ServiceAccount {self.existing}/default", f"Secret {self.existing}/default", f"ConfigMap {self.existing}/kube-root-ca.crt",
            f"RoleBinding {self.existing}/occ-worker", f"RoleBinding {self.existing}/occctl",
        }  # fmt: skip
        assert {each.partition(" ")[0] for each in left - its_own} <= {"Namespace", "CustomResourceDefinition", "APIService"}
        assert len(left - its_own) == 3, left - its_own

    def every_right_was_used_and_no_other_wanted(self):
        for account in ("occ-worker", "occctl"):
            granted = manifests.grants(f"{account}-cluster") | manifests.grants(f"{account}-tenant")
            used = self.at.used(account)
            assert used == granted, f"{account}: granted and not used {granted - used}, used {used - granted}"
            assert self.at.refused(account, since=self.rights_complete) == []
        assert self.at.refused("occ-binder") == []
        # Whether it may give a role is no request of its own: that nothing was refused shows it.
        unseen = {("rbac.authorization.k8s.io", "clusterroles", "bind")}
        assert self.at.used("occ-binder") == manifests.grants("occ-binder") - unseen


def test_from_the_first_command_to_the_last(production, occctl, bootstrapped, folder):
    """Issue 4: every step of it, in order; the audit log of the API server then tells which rights it took."""
    story = Story(production, occctl, bootstrapped, folder)
    story.namespaces_wait_for_their_rights()
    story.namespaces_are_fenced()
    story.an_embedded_agent()
    story.secrets_are_kept()
    story.what_was_changed_is_mended()
    story.a_dedicated_agent()
    story.routes()
    story.an_agent_is_stopped()
    story.everything_is_deleted()
    story.nothing_is_left()
    story.every_right_was_used_and_no_other_wanted()
    assert SECRET not in production.worker.log and not production.worker.events("worker.error")
