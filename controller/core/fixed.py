"""The fields that cannot change while their object exists, each with the reason and the remedy."""

from collections.abc import Mapping

OF_CLOUDLETS: Mapping[str, str] = {
    "pe": "its endpoints have the same flavour: remove the cloudlet, and add it anew",
    "unmanaged": "remove the cloudlet, and add it anew",
}
OF_ENDPOINTS: Mapping[str, str] = {
    "cloudlet": "a LAN stays where it is: remove it, and add one at that cloudlet",
}
OF_VMS: Mapping[str, str] = {
    "device": "a VM serves one device: remove it, and add one for the other device",
    "driver": "its disk is that driver's: remove the VM, and add it anew",
    "image": "its disk was made with it: remove the VM, and add it anew",
    "macs": "its guest is set up with them: remove the VM, and add it anew",
    "disk": "what the VM has written differs from its base: remove the VM, and add it anew",
}
