"""The kinds of differences, and the remedy for each. `docs/reference/doctor.md` lists the same."""

from enum import StrEnum


class DifferenceKind(StrEnum):
    """The kind of a difference. The first ones are about the intent, the next about route servers and BGP, then about
    cloudlets' kernels, then about packets that pass, and the last about receivers of events."""

    POLICY_INVALID = "policy-invalid"
    POLICY_DRIFT = "policy-drift"
    INVENTORY_DRIFT = "inventory-drift"
    ROUTE_SERVER_SILENT = "route-server-silent"
    ROUTE_SERVER_BEHIND = "route-server-behind"
    RULE_SET = "rule-set"
    RELEASE_SKEW = "release-skew"
    SESSION_DOWN = "session-down"
    SESSION_KEY = "session-key"
    NOT_ANNOUNCED = "not-announced"
    QUARANTINE = "quarantine"
    NOT_SENT = "not-sent"
    HELD_BACK = "held-back"
    LEAK = "leak"
    ROUTE_TARGET = "route-target"
    DESIRED_STATE = "desired-state"
    AGENT_AWAY = "agent-away"
    NO_REPORT = "no-report"
    AGENT_BEHIND = "agent-behind"
    AGENT_TOO_OLD = "agent-too-old"
    AGENT_PROBLEM = "agent-problem"
    LAN_MISSING = "lan-missing"
    LAN_LEFT = "lan-left"
    TUNNEL_MISSING = "tunnel-missing"
    TUNNEL_LEFT = "tunnel-left"
    TUNNEL_WRONG = "tunnel-wrong"
    ROUTE_MISSING = "route-missing"
    ROUTE_LEFT = "route-left"
    PORT_MISSING = "port-missing"
    PORT_STRANGE = "port-strange"
    NO_ENCRYPTION = "no-encryption"
    TUNNEL_IN_THE_CLEAR = "tunnel-in-the-clear"
    RULES_GONE = "rules-gone"
    FOREIGN_RULES = "foreign-rules"
    SETTING = "setting"
    MTU_MISMATCH = "mtu-mismatch"
    CONTROL_WORD = "control-word"
    CLONED_CLIENT = "cloned-client"
    GUEST_SILENT = "guest-silent"
    MAC_DUPLICATE = "mac-duplicate"
    PAIRS_HOARDED = "pairs-hoarded"
    FINDINGS_UNTOLD = "findings-untold"
    VM_ENDED = "vm-ended"
    VM_UNKNOWN = "vm-unknown"
    VM_CPU = "vm-cpu"
    DOES_NOT_PASS = "does-not-pass"
    PASSES_THOUGH_FORBIDDEN = "passes-though-forbidden"
    WEBHOOK_FAILING = "webhook-failing"
    WEBHOOK_PAUSED = "webhook-paused"


REMEDIES: dict[DifferenceKind, str] = {
    DifferenceKind.POLICY_INVALID: "run `weft policy check` on the policy, mend what it names, and apply it",
    DifferenceKind.POLICY_DRIFT: (
        "run `weft policy drift`; apply the policy again, or write what was done by hand into it"
    ),
    DifferenceKind.INVENTORY_DRIFT: (
        "run `weft inventory drift`; apply the inventory again, or write what was done by hand into it"
    ),
    DifferenceKind.ROUTE_SERVER_SILENT: (
        "look at its service and log (`systemctl status weft-routeserver`), and whether the controller reaches its "
        "control address and has its token"
    ),
    DifferenceKind.ROUTE_SERVER_BEHIND: (
        "wait a few seconds and ask again; if it stays so, `weft event list` says why it refuses"
    ),
    DifferenceKind.RULE_SET: (
        "wait a few seconds and ask again; if it stays so, restart that route server: it gets the whole rule set anew"
    ),
    DifferenceKind.RELEASE_SKEW: (
        "upgrade the older part, or take the newer one back; docs/operate/upgrade.md has the order, and what works "
        "together"
    ),
    DifferenceKind.SESSION_DOWN: (
        "look at the PE's speaker (gobgpd or FRR) and its log, at the path to TCP port 179, and at the session's key"
    ),
    DifferenceKind.SESSION_KEY: (
        "restart the agent if it does not speak TLS; else wait until the session's turn has come"
    ),
    DifferenceKind.NOT_ANNOUNCED: (
        "look at the agent's log at that cloudlet, and whether its speaker is configured (`weft-agent show`)"
    ),
    DifferenceKind.QUARANTINE: (
        "`weft route explain` says which permit the route violates; announce it from the endpoint that it belongs "
        "to, or correct the endpoint"
    ),
    DifferenceKind.NOT_SENT: (
        "`weft route explain` says where the route stays; if it should be there, restart the BGP session"
    ),
    DifferenceKind.HELD_BACK: (
        "repair that PE, or what the announcing one sends (`weft route held` names both), and `weft route release` it"
    ),
    DifferenceKind.LEAK: (
        "take the route server out of service (`weft route explain` shows the route) and report it: pools are not "
        "isolated while it runs"
    ),
    DifferenceKind.ROUTE_TARGET: "restart the BGP session of the PE that was sent it; if it comes back, report it",
    DifferenceKind.DESIRED_STATE: "restart the controller: it works the desired state out anew from the pools",
    DifferenceKind.AGENT_AWAY: "look at the agent's service and log at that cloudlet, and at its way to the controller",
    DifferenceKind.NO_REPORT: "wait half a minute and ask again; then look at the agent's log",
    DifferenceKind.AGENT_BEHIND: "wait a few seconds and ask again; then look at the agent's log for what it cannot do",
    DifferenceKind.AGENT_TOO_OLD: "upgrade that agent, or take back the setting that needs a newer one",
    DifferenceKind.AGENT_PROBLEM: "do what the sentence says at that cloudlet; the agent tries again by itself",
    DifferenceKind.LAN_MISSING: "look at the agent's log for why it cannot make the bridge",
    DifferenceKind.LAN_LEFT: "restart the agent; if the bridge stays, take it out by hand (`ip link del`)",
    DifferenceKind.TUNNEL_MISSING: (
        "look whether the other PE announces its endpoint (`weft route list`) and at the agent's log"
    ),
    DifferenceKind.TUNNEL_LEFT: (
        "restart the agent of that cloudlet; if the tunnel stays, take it out by hand (`ip link del`)"
    ),
    DifferenceKind.TUNNEL_WRONG: (
        "look whether both PEs have a session with a route server; the labels come with their routes"
    ),
    DifferenceKind.ROUTE_MISSING: "look for another route to the same prefix in the kernel (`ip route show table all`)",
    DifferenceKind.ROUTE_LEFT: (
        "restart the agent of that cloudlet; if the route stays, take it out by hand (`ip route del`)"
    ),
    DifferenceKind.PORT_MISSING: (
        "create the interface, or take it off whatever bridge it is on; else correct the endpoint's ports"
    ),
    DifferenceKind.PORT_STRANGE: "take the interface off the bridge, or name it among the endpoint's ports",
    DifferenceKind.NO_ENCRYPTION: "look at charon (strongSwan) and its log at that cloudlet",
    DifferenceKind.TUNNEL_IN_THE_CLEAR: (
        "look at charon at both ends, at UDP ports 500 and 4500 between them, and at both certificates (`weft tunnel "
        "list`)"
    ),
    DifferenceKind.RULES_GONE: (
        "find what changes nftables at that host (`nft monitor`): a firewall service that flushes the whole ruleset "
        "has to keep to its own tables"
    ),
    DifferenceKind.FOREIGN_RULES: (
        "let the named chain accept what the LANs' bridges forward, or take it away; with Docker, set "
        "net.bridge.bridge-nf-call-iptables=0 or accept the bridges in DOCKER-USER"
    ),
    DifferenceKind.SETTING: "set the named sysctl to the expected value, and in /etc/sysctl.d so that it stays",
    DifferenceKind.MTU_MISMATCH: (
        "give both endpoints the same MTU (`weft endpoint set --mtu`), or set it at the foreign PE"
    ),
    DifferenceKind.CONTROL_WORD: "switch the control word off at the foreign PE: VXLAN carries none",
    DifferenceKind.CLONED_CLIENT: (
        "give the machines different DHCP client identifiers (an empty /etc/machine-id before cloning)"
    ),
    DifferenceKind.GUEST_SILENT: "look at the guest's console; start its guest agent, or the guest, anew",
    DifferenceKind.MAC_DUPLICATE: (
        "give one of the two machines another MAC (clones of a VM have the same one); if it is one machine, look for a "
        "cable or bridge between the two places outside of Weft"
    ),
    DifferenceKind.PAIRS_HOARDED: (
        "look which clients are at that port (`weft lease list --endpoint`), and end what makes them up; devices that "
        "are registered (`weft device add`) are not held to a share, and a larger prefix has room for more"
    ),
    DifferenceKind.FINDINGS_UNTOLD: "mend what this agent's other findings name; it tells of the rest then",
    DifferenceKind.VM_ENDED: (
        "find out why in the guest's own logs and the agent's; then start it (`weft vm start`), or leave it stopped "
        "(`weft vm stop`)"
    ),
    DifferenceKind.VM_UNKNOWN: (
        "find out at that cloudlet why its hypervisor does not answer; `weft vm stop` ends it as if its power were cut"
    ),
    DifferenceKind.VM_CPU: (
        "choose a CPU that all of them have (`weft vm set --cpu baseline`; it is settled anew when the VM is started), "
        "or leave that cloudlet out of the VM's pools"
    ),
    DifferenceKind.DOES_NOT_PASS: (
        "look at the underlay between the two VTEPs (UDP port 4789), and with `nft list counters` at both cloudlets "
        "for what is dropped"
    ),
    DifferenceKind.PASSES_THOUGH_FORBIDDEN: (
        "look for a cable or bridge between the two LANs outside of Weft, and at the tunnels of both (`weft doctor` "
        "names those left over)"
    ),
    DifferenceKind.WEBHOOK_FAILING: "look at the receiver and its log; `weft webhook deliveries` has its answers",
    DifferenceKind.WEBHOOK_PAUSED: "repair the receiver, `weft webhook test` it, and `weft webhook set --resume` it",
}
