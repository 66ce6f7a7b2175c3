"""Names of pools that proximity makes: family-1, family-2, and so on."""

from controller.core.intent import Intent

LONGEST = 63


def next_name(intent: Intent, family: str) -> str:
    """Return the name of the family's next pool, with the number after the greatest ever used: a note about a removed
    pool never refers to another one."""
    number = intent.families.get(family, 0)
    while True:
        number += 1
        suffix = f"-{number}"
        name = family[: LONGEST - len(suffix)] + suffix
        if name not in intent.vcps and name not in intent.policy.vcps:
            return name
