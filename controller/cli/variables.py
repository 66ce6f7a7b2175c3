"""The environment variables that `weft` reads."""

from collections.abc import Mapping

VARIABLES: Mapping[str, str] = {
    "WEFT_URL": "URL of the controller",
    "WEFT_CONTEXT": "name of the context to use, where neither --url nor WEFT_URL is given",
    "WEFT_TOKEN_FILE": "file with your token (a socket needs none)",
    "WEFT_TOKEN": "the token itself",
    "WEFT_ROOT_FILE": "file with the region's root (`weft certificate authority`), for an https:// URL of the "
    "controller's own",
    "WEFT_OIDC_ISSUER": "issuer at which `weft login` logs in",
    "WEFT_OIDC_CLIENT": "client id of weft at that issuer",
    "WEFT_NETBOX_TOKEN": "token of a NetBox, for `weft inventory import`",
    "WEFT_DEBUG": "1: a defect of weft shows where it is",
    "NO_COLOR": "any value turns colours off",
}
"""The meaning of each variable, as `weft --help` and the reference show it."""
