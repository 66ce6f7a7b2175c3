"""The images that a policy places at a cloudlet. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from controller.core.intent import Cloudlet, Intent
from controller.core.policy.model import PlacedImage
from controller.core.selectors import labels, matches
from controller.wire.images import WantedImage

Homes = Mapping[str, str]
"""Device → the endpoint at which its VM is."""


def wanted(intent: Intent, cloudlet: str, homes: Homes) -> list[WantedImage]:
    """Return the images that belong to a cloudlet, sorted by name. `homes` has the devices that the policy's images
    name, those without a VM left out. A cloudlet that does not take part has no images."""
    found = intent.cloudlets.get(cloudlet)
    if found is None or not found.speaks or intent.is_host(found):
        return []
    images = (image for _, image in sorted(intent.policy.images.items()))
    return [WantedImage(name=i.name, digest=i.digest) for i in images if _placed(intent, i, found, homes)]


def _placed(intent: Intent, image: PlacedImage, cloudlet: Cloudlet, homes: Homes) -> bool:
    """Return whether one of the image's conditions is met; without any it belongs everywhere."""
    if image.everywhere or cloudlet.name in image.cloudlets:
        return True
    mine = intent.endpoints_of.get(cloudlet.name, ())
    if image.select is not None:
        seen = [labels(cloudlet, endpoint) for endpoint in mine] or [cloudlet.labels]
        if any(matches(image.select, each) for each in seen):
            return True
    pools = frozenset[str]().union(*(intent.pools_of.get(endpoint.name, ()) for endpoint in mine))
    if any(pool in image.vcps or intent.vcps[pool].family in image.vcps for pool in pools):
        return True
    return any(_reaches(intent, pools, cloudlet.name, home) for home in _of(image.devices, homes))


def _of(devices: Iterable[str], homes: Homes) -> Iterator[str]:
    return (homes[device] for device in devices if device in homes)


def _reaches(intent: Intent, pools: frozenset[str], cloudlet: str, home: str) -> bool:
    """Return whether the VM at `home` is at the cloudlet, or shares a pool with it, and so can follow its device
    there."""
    found = intent.endpoints.get(home)
    if found is None:
        return False
    return found.cloudlet == cloudlet or not pools.isdisjoint(intent.pools_of.get(home, ()))
