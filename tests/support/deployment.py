# SPDX-License-Identifier: MIT
"""What the tests of deployments share: what the Driver was asked, how a pass ended, and the next one."""


def told(pass_):
    """What the Driver was asked, in order: (operation, number of the revision)."""
    return [(effect["what"], effect.get("number")) for effect in pass_.all("effect")]


def ended(pass_, number=1):
    report = pass_.report(number)
    return report["outcome"], report["code"]


def again(work, pass_, key, number):
    """The item is due now, and the reconciler goes on: how its `number`th pass ended."""
    pass_.rest(number - 1)
    work.due(key)
    pass_.order("go")
    return ended(pass_, number)


def complete(agents, number, **more):
    """A revision whose deployment was completed, by rows alone."""
    revision = agents.deployable(number, **more)
    agents.activate(revision)
    key = agents.admit(revision=revision)
    agents.work.db.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() + interval '1 min' where idempotency_key = %s",
        key,
    )
    agents.work.db.execute(
        "update occ.controller_work set state = 'succeeded', lease_expires_at = null, completed_at = now(),"
        " reason_code = 'REVISION_ACTIVATED' where idempotency_key = %s",
        key,
    )
    return revision
