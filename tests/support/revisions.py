# SPDX-License-Identifier: MIT
"""Agents and revisions on a cluster, as the Kubernetes Compute Driver keeps them, driven by driver_probe.

    with Revisions(kubernetes, folder, node) as stage:       a Namespace that is ready, and a model's key
        agent = stage.agent()
        one = agent.revision()
        assert agent.until("prepare", one)                   repeated while it is pending
        assert outcome(agent.ask("activate", one)) == "ready"
        agent.routed()                                       {space: the revision that the Service there leads to}

Pods are on a PlayedNode where one is given, else on the cluster's own node.
"""

import hashlib

from .drivers import Drivers, new_agent, new_id, new_revision
from .waiting import poll

AGENT = "openclaw.dev/agent"
REVISION = "openclaw.dev/revision"
ROLE = "openclaw.dev/workload-role"
KINDS = ("pods", "services", "deployments", "networkpolicies", "serviceaccounts", "secrets", "configmaps",
         "persistentvolumeclaims")  # fmt: skip
WRITES = ("create", "update", "patch", "delete", "deletecollection")
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
OPERATIONS = {
    "prepare": "prepare_revision",
    "activate": "activate_revision",
    "deactivate": "deactivate_revision",
    "stop": "stop_revision",
    "retire": "retire_revision",
    "delete": "delete_agent_credentials",
}


def digest(text, digits=12):
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


class Revisions:
    def __init__(self, kubernetes, folder, node=None, user=None, server=None, existing=None, **changes):
        """`changes` go into the startup YAML, as Kubernetes.startup takes them; `server` is another way to it (a proxy);
        `existing` is a namespace to adopt."""
        self.kubernetes = kubernetes
        self.user = user or kubernetes.user("worker", cluster_rules=EVERYTHING)
        kubeconfig = self.user
        if server:
            kubeconfig = kubernetes.write_kubeconfig({"token": self.user.token}, server=server[0], ca=server[1])
        if node:
            changes = {
                "drivers__compute__configuration__runtime__nodeSelector": node.selector(),
                "drivers__compute__configuration__runtime__gatewayNodeSelector": node.selector(),
                **changes,
            }
        self.startup = kubernetes.startup(folder / "revisions.yaml", kubeconfig, **changes)
        self.drivers = Drivers(self.startup)
        assert self.drivers.opening.opened, self.drivers.opening
        self.namespace = {"id": kubernetes.new_id(), "name": "acme", **({"existing": existing} if existing else {})}
        self.data = existing or f"oce-{digest(self.namespace['id'], 15)}"
        self.gateways = f"oce-gateways-{digest(self.namespace['id'], 24)}"
        self.drivers.until_ready("ensure_namespace", namespace=self.namespace)
        self.key = self.drivers.keep_secret(self.namespace, "sk-model-key")

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        if kind is None:
            self.drivers.close()
        else:
            self.drivers.process.kill()
            self.drivers.process.communicate()

    def agent(self):
        return Agent(self)

    def mark(self):
        return self.kubernetes.mark()

    def requests(self, since, *verbs):
        """(verb, resource, name) of this Driver's answered requests since a mark, of these verbs or all."""
        found = self.kubernetes.audit(user=self.user, since=since)
        about = [(entry["verb"], entry.get("objectRef", {})) for entry in found]
        return [(verb, ref.get("resource"), ref.get("name")) for verb, ref in about if not verbs or verb in verbs]

    def writes(self, since):
        return self.requests(since, *WRITES)


class Agent:
    def __init__(self, stage):
        self.stage = stage
        self.kubernetes = stage.kubernetes
        self.told = new_agent()
        self.id = self.told["id"]
        self.h = digest(self.id)
        self._numbers = 0

    def revision(self, mode="embedded", harness=None, **more):
        """The next one."""
        self._numbers += 1
        harness = harness or ("openclaw" if mode == "embedded" else "codex")
        return new_revision(self._numbers, harness, mode, **{"secret": self.stage.key, **more})

    def name(self, what, revision=None):
        return f"{what}-{self.h}" + (f"-{digest(revision['id'])}" if revision else "")

    def space(self, revision):
        """Where its gateway is."""
        return self.stage.data if revision["harness"]["mode"] == "embedded" else self.stage.gateways

    def ask(self, operation, revision=None, **more):
        fields = {"namespace": self.stage.namespace, "agent": self.told, **more}
        if revision:
            fields["revision"] = revision
        answer = self.stage.drivers.compute(OPERATIONS[operation], **fields)
        named = (answer.namespaceId, answer.agentId, answer.revisionId or None)
        assert named == (self.stage.namespace["id"], self.id, revision["id"] if revision else None), answer
        return answer

    def until(self, operation, revision=None, deadline=60.0):
        """Repeated while it is pending, as passes do; the codes that it was pending with, each once."""
        codes = []

        def once():
            answer = self.ask(operation, revision)
            assert answer.ok or answer.kind == "pending", answer
            if not answer.ok and answer.code not in codes:
                codes.append(answer.code)
            return answer.ok

        try:
            poll(once, deadline, interval=0.1, what=f"{operation} being ready")
        except AssertionError as problem:
            raise AssertionError(f"{problem}; it was pending with {codes}") from None
        return codes

    def until_says(self, operation, revision, code, deadline=60.0):
        """Repeated until it answers with this code; the answer."""
        answers = []

        def once():
            answers.append(self.ask(operation, revision))
            return answers[-1] if answers[-1].code == code else None

        try:
            return poll(once, deadline, interval=0.1, what=f"{operation} saying {code}")
        except AssertionError as problem:
            raise AssertionError(f"{problem}; last: {answers[-1:]}") from None

    def deploy(self, revision, *before):
        """A whole deployment, as passes make it: what must be stopped, prepared, served, and what was before retired."""
        if revision["harness"]["mode"] == "dedicated":
            for each in before:
                self.until("stop", each)
        self.until("prepare", revision)
        self.until("activate", revision)
        for each in before:
            self.until("retire", each)
        return revision

    # What the cluster has.

    def get(self, kind, name, space=None):
        return self.kubernetes.get(kind, name, space or self.stage.data)

    def objects(self, *kinds, revision=None):
        """{(kind, space, name): object} of what carries the Agent's label, or the revision's."""
        selector = f"{AGENT}={self.id}" + (f",{REVISION}={revision['id']}" if revision else "")
        found = {}
        for kind in kinds or KINDS:
            for space in (self.stage.data, self.stage.gateways):
                for each in self.kubernetes.list(kind, space, selector):
                    found[kind, space, each["metadata"]["name"]] = each
        return found

    def names(self, *kinds, revision=None):
        return sorted((kind, name) for kind, _, name in self.objects(*kinds, revision=revision))

    def pods(self, role=None):
        pods = self.objects("pods").values()
        return [pod for pod in pods if role in (None, pod["metadata"]["labels"][ROLE])]

    def routed(self):
        """{space: where the Service there leads}"""
        found = self.objects("services")
        name = self.name("gateway")
        return {
            space: each["spec"]["selector"][REVISION] for (_, space, called), each in found.items() if called == name
        }

    def addresses(self, space):
        """The revisions of the Pods whose addresses the Service leads to."""
        slices = self.kubernetes.list("endpointslices", space, f"kubernetes.io/service-name={self.name('gateway')}")
        pods = {pod["metadata"]["uid"]: pod["metadata"]["labels"].get(REVISION) for pod in self.kubernetes.list("pods", space)}
        return [
            pods.get(endpoint.get("targetRef", {}).get("uid"), "gone")
            for each in slices
            for endpoint in each["endpoints"] or ()
            if endpoint["conditions"].get("ready", True)
        ]


__all__ = ["Agent", "Revisions", "digest", "new_id"]
