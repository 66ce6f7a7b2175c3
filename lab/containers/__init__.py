"""The lab's images of containers, as a hypervisor driver's folder of images (docs/operate/containers.md)."""
