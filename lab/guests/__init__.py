"""The lab's guest: a kernel, an initramfs and a disk to begin with, made from Debian's packages
(docs/operate/guests.md)."""
