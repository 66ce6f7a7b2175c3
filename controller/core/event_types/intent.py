"""Events about pools, endpoints, changes, the policy, tokens, and the log itself."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType

_DISAGREES = ("generation", "database")

INTENT: Mapping[str, EventType] = {
    "endpoint-created": EventType("An endpoint was added.", "endpoint", "operator", ("cloudlet",)),
    "endpoint-changed": EventType("Values of an endpoint were changed.", "endpoint", "operator"),
    "endpoint-removed": EventType("An endpoint was removed.", "endpoint", "operator"),
    "vcp-created": EventType("A VCP was added.", "VCP", "operator"),
    "vcp-removed": EventType("A VCP was removed.", "VCP", "operator"),
    "member-joined": EventType(
        "An endpoint joined a VCP, by request or for a move.", "endpoint", "operator, controller", ("vcp", "generation")
    ),
    "member-left": EventType(
        "An endpoint left a VCP, by request or after a move.", "endpoint", "operator, controller", ("vcp", "generation")
    ),
    "change-confirmed": EventType("A change on trial was confirmed.", "generation", "operator"),
    "change-rolled-back": EventType(
        "A change on trial was rolled back, by request or because nobody confirmed it in time.",
        "generation",
        "operator, controller",
        ("generation",),
    ),
    "consent-given": EventType("A tenant consented to an endpoint.", "endpoint", "tenant, admin", ("tenant", "by")),
    "consent-withdrawn": EventType("A tenant withdrew its consent.", "endpoint", "tenant, admin", ("tenant", "by")),
    "consent-awaited": EventType(
        "Endpoints are held back until their tenants consent: one that was added, or those of a policy.",
        "endpoint, policy file",
        "operator",
        ("tenant", "endpoints"),
    ),
    "consent-counted": EventType(
        "The operator who applied a policy counted endpoints as consented.", "policy file", "operator", ("endpoints",)
    ),
    "policy-applied": EventType(
        "A policy came into force.", "policy file", "operator", ("revision", "generation", "by")
    ),
    "policy-followed": EventType(
        "After another change the policy changed members of its VCPs.", "change", "controller"
    ),
    "policy-drift": EventType(
        "Pools are no longer as the policy in force says; `weft policy drift` names the steps.",
        "revision",
        "controller",
        ("steps",),
    ),
    "policy-drift-ended": EventType("Pools are as the policy says again.", "revision", "controller"),
    "policy-trouble": EventType(
        "The policy in force cannot be read, or its tests fail; it stays in force.",
        "policy file",
        "controller",
        ("errors",),
    ),
    "inventory-applied": EventType(
        "An inventory was applied.", "inventory file", "operator", ("revision", "generation", "by")
    ),
    "inventory-drift": EventType(
        "The region is no longer as the last inventory says; `weft inventory drift` names the steps.",
        "revision",
        "controller",
        ("steps",),
    ),
    "inventory-drift-ended": EventType("The region is as the inventory says again.", "revision", "controller"),
    "token-made": EventType("An API token was made.", "token", "admin", ("role",)),
    "token-revoked": EventType("An API token was revoked.", "token", "admin"),
    "database-behind": EventType(
        "A route server is ahead of the database, which is an older copy: the controller goes on above, or sends "
        "nothing until an operator decides.",
        "route server",
        "controller",
        _DISAGREES,
    ),
    "overtaken": EventType(
        "An operator put the database in force though a route server is ahead of it.", "route server", "operator"
    ),
    "events-held": EventType(
        "A source caused more events than its budget; this one counts them, with the last text of each type.",
        "source",
        "any source",
        ("held", "last"),
    ),
    "webhook-added": EventType("A receiver of events was registered.", "webhook", "operator"),
    "webhook-changed": EventType("A receiver got other values or another secret.", "webhook", "operator"),
    "webhook-removed": EventType("A receiver was removed.", "webhook", "operator"),
    "webhook-paused": EventType(
        "A receiver gets no events: an operator paused it, or it has failed for too long.",
        "webhook",
        "operator, controller",
    ),
    "webhook-resumed": EventType("A paused receiver goes on where it was.", "webhook", "operator"),
    "webhook-replayed": EventType("A receiver gets earlier events again.", "webhook", "operator"),
    "webhook-missed": EventType(
        "Events were deleted by age before a receiver had taken them.", "webhook", "controller"
    ),
}
