"""The refusal of a policy."""

from controller.core.yaml_document.errors import DocumentInvalid


class PolicyInvalid(DocumentInvalid):
    """A policy that is refused."""

    noun = "policy"
