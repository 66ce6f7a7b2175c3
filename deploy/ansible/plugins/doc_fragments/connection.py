"""The options that say where the controller is, which all modules have."""


class ModuleDocFragment:
    """The documentation of these options."""

    DOCUMENTATION = r"""
options:
  url:
    description:
      - The controller, C(unix:///PATH) on its own host, or C(https://HOST:PORT).
      - If it is not set, the value of the environment variable E(WEFT_URL) is used.
    type: str
    default: unix:///run/weft/controller.sock
  token:
    description:
      - An API token, as C(weft token add) makes it. A socket needs none.
      - If it is not set, the value of the environment variable E(WEFT_TOKEN) is used.
    type: str
  token_file:
    description:
      - The file of the token, on the host where the module runs.
      - If it is not set, the value of the environment variable E(WEFT_TOKEN_FILE) is used.
    type: path
  root_file:
    description:
      - The file of the region's root (C(weft certificate authority)), or of other authorities of the certificate (PEM).
      - The controller's own certificate names C(controller.weft.internal); let C(/etc/hosts) name its address so.
      - If it is not set, E(WEFT_ROOT_FILE) is used, or else the host's authorities.
    type: path
  timeout:
    description: Seconds that a change may take. It waits for every route server and agent concerned.
    type: int
    default: 60
attributes:
  check_mode:
    description: Changes nothing, and says what would change.
    support: full
  diff_mode:
    description: Shows the values before and after.
    support: full
"""
