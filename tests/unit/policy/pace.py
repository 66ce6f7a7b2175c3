"""The time to read and check a large policy, and to run its tests: `python -m tests.unit.policy.pace`."""

import random
import time

from controller.core.policy import parse
from controller.core.promises import Outcome, alone, run


def large(cloudlets: int = 1000, vcps: int = 200, size: int = 20) -> str:
    """Return a policy with a LAN and a site for each cloudlet, and pools with members by name, a quarter with rules."""
    chance = random.Random(1)
    lines = ["apiVersion: weft/v1", "proximity:", "  sites:"]
    lines += [f"    c{n}: {{coverage_m: {50 + n % 50}}}" for n in range(cloudlets)]
    lines += ["addresses:", "  lans:"]
    for n in range(cloudlets):
        base = f"10.{n // 250}.{n % 250}"
        lines += [f"    c{n}-lan:", f"      reservations: {{till-{n}: {base}.20, wall-{n}: {base}.22}}"]
        lines += [f"      exclusions: [{base}.100-{base}.119]"]
    pools = {f"pool-{v}": sorted(chance.sample(range(cloudlets), size)) for v in range(vcps)}
    lines += ["vcps:"]
    for name, members in pools.items():
        lines += [f"  {name}:", "    members:", *(f"      - c{n}-lan" for n in members)]
    lines += ["access:"]
    for name in list(pools)[: vcps // 4]:
        lines += [f"  {name}:", "    - {name: web, action: accept, protocols: [tcp], ports: [80, 443]}"]
        lines += ["    - {name: closed, action: drop}"]
    lines += ["tests:"]
    for name, members in pools.items():
        lines += [f"  - name: {name} is one", f"    reachable: {{from: c{members[0]}-lan, to: c{members[1]}-lan}}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = large()
    for _ in range(3):
        start = time.perf_counter()
        policy = parse(text, "large.yaml")
        read = time.perf_counter()
        results = run(policy, alone(policy.rules))
        tested = time.perf_counter()
        assert all(result.outcome is Outcome.PASSED for result in results)
        print(f"{len(text)} characters, {len(policy.vcps)} pools: read and checked in {read - start:.3f} s")
        print(f"{len(results)} tests: {tested - read:.3f} s")
