"""The VPN controller: intent in (REST, policy), rule set out (route servers), desired state out (agents).

Glossary
--------
cloudlet   one edge site: a LAN, an agent, and a PE that speaks BGP.
endpoint   the attachment of one cloudlet LAN to the fabric; a VSI (RFC 4761) or an EVI (RFC 7432). It carries one
           site route target, one RD, a VE ID or VNI, and a VTEP address. Pool membership never changes these.
VCP        Virtual Cloud Pool (CloudNet, section 2.1): a set of endpoints that share connectivity. Not transitive.
pair       an even MD address and the odd VM address right above it (Teka, section III).
MD / VM    the mobile device, and the machine that works for it.
generation the number of a rule set; every change to endpoints, pools or members makes the next one.
in force   a change is in force when every route server has confirmed its generation and every agent concerned has
           reported a kernel that agrees with it.

Layers (arrows go one way): `api` -> `db` -> `core`; `wire` holds the messages that cross process boundaries and is
the only part of this package that agents import. `cli` is the `weft` command and uses only the REST API.
"""
