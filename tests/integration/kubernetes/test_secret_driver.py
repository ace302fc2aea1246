# SPDX-License-Identifier: MIT
"""secret-kubernetes on a real API server: a value is an entry of a Secret of its Namespace, known by its UID."""

import base64
import os

import pytest
from support.drivers import encoded, new_id, new_namespace, outcome
from support.kubernetes_tenant import CLUSTER_RULES, data_space, hashed_name, let_in, release

LIMIT = 1024 * 1024


def found(kubernetes, place):
    return kubernetes.get("secret", place["backendName"], place["backendNamespaceName"])


def value_of(made, key="value"):
    return base64.b64decode(made["data"][key])


def registered(space, name, key, uid=None):
    return {"secretId": new_id("sec"), "driverId": "secret-kubernetes", "namespaceId": new_id("ns"),
            "backendNamespaceName": space, "backendName": name, "backendKey": key, "backendUid": uid}  # fmt: skip


@pytest.mark.parametrize("value", [b"sk-proj-1\n", b"\0", bytes(range(256)) * 3, b"\xff\xfe", "schlüssel".encode()], ids=len)
def test_any_value_comes_back(drivers, kubernetes, tenant, value):
    place = drivers.keep_secret(tenant, value)
    assert drivers.secret_value(place) == value
    assert place["backendNamespaceName"] == data_space(tenant) and place["backendKey"] == "value"
    assert place["backendName"] == hashed_name("secret", place["secretId"])
    made = found(kubernetes, place)
    assert value_of(made) == value and made["metadata"]["uid"] == place["backendUid"] and made["type"] == "Opaque"
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "openclaw-enterprise",
        "openclaw.dev/namespace": tenant["id"],
        "openclaw.dev/secret": place["secretId"],
    }


def test_the_largest_value_and_one_byte_more(drivers, kubernetes, tenant):
    largest = os.urandom(LIMIT)
    place = drivers.keep_secret(tenant, largest)
    assert drivers.secret_value(place) == largest
    refused = drivers.secret("store", namespace=tenant, secretId=place["secretId"], value=encoded(largest + b"x"))
    assert outcome(refused) == ("permanent", "SECRET_VALUE_TOO_LARGE") and str(LIMIT) in refused.message
    assert value_of(found(kubernetes, place)) == largest


def test_a_value_is_replaced_in_the_same_object(drivers, kubernetes, tenant):
    place = drivers.keep_secret(tenant, "first")
    before = found(kubernetes, place)
    assert drivers.keep_secret(tenant, "first", place["secretId"]) == place
    assert found(kubernetes, place) == before
    assert drivers.keep_secret(tenant, "second", place["secretId"]) == place
    assert drivers.secret_value(place) == b"second"


def test_what_was_removed_is_missing_and_is_removed_again(drivers, kubernetes, tenant):
    place = drivers.keep_secret(tenant, "x")
    assert outcome(drivers.secret("remove", place=place, observe=True)) == ("pending", "SECRET_NOT_REMOVED")
    assert drivers.secret("remove", place=place).ok and found(kubernetes, place) is None
    assert drivers.secret("remove", place=place).ok
    missing = drivers.secret("read", place=place)
    assert outcome(missing) == ("permanent", "SECRET_VALUE_MISSING") and place["backendName"] in missing.message


def test_a_value_that_went_with_its_namespace(drivers, opened, kubernetes, tenant):
    """Under the rights that are shipped a server says "denied" of what would be in there: the RoleBinding went too."""
    place, limited = drivers.keep_secret(tenant, "x"), opened(kubernetes.user("occctl", cluster_rules=CLUSTER_RULES))
    for operation in ("read", "remove"):
        assert outcome(limited.secret(operation, place=place)) == ("pending", "KUBERNETES_ACCESS_DENIED")
    kubernetes.delete("namespace", data_space(tenant))
    missing = limited.secret("read", place=place)
    assert outcome(missing) == ("permanent", "SECRET_VALUE_MISSING") and "does not exist" in missing.message
    assert limited.secret("remove", place=place).ok


def test_another_object_of_that_name_is_not_ours(drivers, kubernetes, tenant):
    """K78: made anew with all our labels, by whoever knows them."""
    place = drivers.keep_secret(tenant, "ours")
    former = found(kubernetes, place)
    kubernetes.delete("secret", place["backendName"], place["backendNamespaceName"])
    kubernetes.apply({"apiVersion": "v1", "kind": "Secret", "data": {"value": encoded("theirs")}, "metadata": {
        name: former["metadata"][name] for name in ("name", "namespace", "labels")}})  # fmt: skip
    missing = drivers.secret("read", place=place)
    assert outcome(missing) == ("permanent", "SECRET_VALUE_MISSING") and "anew" in missing.message
    assert drivers.secret("remove", place=place).ok
    assert value_of(found(kubernetes, place)) == b"theirs"
    # Setting it again takes the object, as its labels say that it is ours, and keeps its UID.
    again = drivers.keep_secret(tenant, "ours again", place["secretId"])
    assert again["backendUid"] != place["backendUid"] and drivers.secret_value(again) == b"ours again"


@pytest.mark.parametrize("wrong", [{"openclaw.dev/namespace": "ns_other"}, {"openclaw.dev/secret": None}])
def test_an_object_that_is_labelled_otherwise_stays(drivers, kubernetes, tenant, wrong):
    place = drivers.keep_secret(tenant, "x")
    kubernetes.patch("secret", place["backendName"], place["backendNamespaceName"], {"metadata": {"labels": wrong}})
    before = found(kubernetes, place)
    told = [
        drivers.secret("store", namespace=tenant, secretId=place["secretId"], value=encoded("y")),
        drivers.secret("read", place=place),
        drivers.secret("remove", place=place),
    ]
    for refused in told:
        assert outcome(refused) == ("permanent", "OWNERSHIP_CONFLICT"), refused
        assert next(iter(wrong)) in refused.message and place["backendName"] in refused.message
    assert found(kubernetes, place) == before


def test_a_registered_value_is_read_where_it_is_and_never_removed(drivers, kubernetes):
    space = kubernetes.namespace()
    made = kubernetes.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs", "namespace": space},
                             "data": {"api-key": encoded("k"), "empty": ""}})  # fmt: skip
    place = registered(space, "theirs", "api-key", made["metadata"]["uid"])
    assert drivers.secret_value(place) == b"k"
    assert drivers.secret_value({**place, "backendUid": None}) == b"k"
    assert drivers.secret_value({**place, "backendKey": "empty"}) == b""
    for change in ({"backendKey": "other"}, {"backendName": "other"}, {"backendUid": new_id("x")}):
        assert drivers.secret("read", place={**place, **change}).code == "SECRET_VALUE_MISSING", change
    assert drivers.secret("remove", place=place).ok
    assert kubernetes.get("secret", "theirs", space) == made


def test_before_the_namespace_is_there(drivers, opened, kubernetes, tenant):
    """K114"""
    refused = drivers.secret("store", namespace=new_namespace(), secretId=new_id("sec"), value=encoded("x"))
    assert outcome(refused) == ("pending", "NAMESPACE_NOT_READY")
    user = kubernetes.user("occctl", cluster_rules=CLUSTER_RULES)
    limited = opened(user)
    about = {"namespace": tenant, "secretId": new_id("sec"), "value": encoded("x")}
    assert outcome(limited.secret("store", **about)) == ("pending", "KUBERNETES_ACCESS_DENIED")
    let_in(kubernetes, user, data_space(tenant))
    assert limited.secret("store", **about).ok


def test_an_adopted_namespace_until_it_is_ready(drivers, opened, kubernetes):
    space = kubernetes.namespace()
    made = new_namespace(existing=space)
    kubernetes.mine(made["id"])
    user = kubernetes.user("occctl", cluster_rules=CLUSTER_RULES)
    limited = opened(user)
    about = {"namespace": made, "secretId": new_id("sec"), "value": encoded("x")}
    assert outcome(limited.secret("store", **about)) == ("permanent", "KUBERNETES_NAMESPACE_NOT_RELEASED")
    release(kubernetes, space)
    assert outcome(limited.secret("store", **about)) == ("permanent", "NAMESPACE_NOT_READY")
    drivers.until_ready("ensure_namespace", namespace=made)
    assert outcome(limited.secret("store", **about)) == ("permanent", "KUBERNETES_ACCESS_DENIED")
    let_in(kubernetes, user, space)
    kept = limited.secret("store", **about).kept
    assert kept["backendNamespaceName"] == space
    # A pass that reads it waits for its right, adopted or not.
    stranger = opened(kubernetes.user("stranger", cluster_rules=CLUSTER_RULES))
    place = {"secretId": about["secretId"], "driverId": "secret-kubernetes", "namespaceId": made["id"], **kept}
    assert outcome(stranger.secret("read", place=place)) == ("pending", "KUBERNETES_ACCESS_DENIED")


def test_no_message_has_a_value(opened, kubernetes, drivers, tenant):
    """K68"""
    secret = "sk-very-secret-value"
    place = drivers.keep_secret(tenant, secret)
    gone = opened(kubernetes.write_kubeconfig({"token": "also-secret"}, server="https://127.0.0.1:1"))
    told = [
        drivers.secret("store", namespace=new_namespace(), secretId=new_id("sec"), value=encoded(secret)),
        gone.secret("store", namespace=tenant, secretId=place["secretId"], value=encoded(secret)),
        gone.secret("read", place=place),
    ]
    for refused in told:
        assert not refused.ok
        for word in (secret, encoded(secret), "also-secret"):
            assert word not in refused.message


def test_a_broken_credential_is_pending_in_a_pass_and_told_to_an_operator(opened, kubernetes, drivers, tenant):
    place = drivers.keep_secret(tenant, "x")
    broken = opened(kubernetes.write_kubeconfig({}))
    assert outcome(broken.secret("preflight")) == ("configuration", "KUBERNETES_AUTHENTICATION_INVALID")
    assert outcome(broken.secret("read", place=place)) == ("pending", "KUBERNETES_AUTHENTICATION_INVALID")
    refused = broken.secret("store", namespace=tenant, secretId=place["secretId"], value=encoded("y"))
    assert outcome(refused) == ("configuration", "KUBERNETES_AUTHENTICATION_INVALID")
