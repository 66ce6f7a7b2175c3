"""The images of one cloudlet: the agent fetches those that the policy places there, before a machine needs them, and
lets other cloudlets fetch them (docs/operate/images.md).

`layouts.py` looks at the folder of images; `plan.py` decides, without I/O, what is fetched and what is removed.
`fetch.py` and `server.py` run `weft-images` (agents/transfer), which checks every byte. `images.py` is the loop;
`tries.py` remembers what failed, and `reporter.py` tells the controller.
"""

from agents.images.images import Images

__all__ = ["Images"]
