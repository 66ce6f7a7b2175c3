"""A service for benchmarks: it holds an array, half random and half text, rewrites a little of it all the time, and
answers each line on port 5202 with the digest of what it does not rewrite. `service.py MIB`."""

import hashlib
import socketserver
import sys
import threading
import time
from pathlib import Path

import numpy

MIB, KEPT = int(sys.argv[1]), 4
"""MiB of the array, and of the file that the service writes into its layer."""

half = (MIB << 20) // 2
array = numpy.empty(MIB << 20, dtype=numpy.uint8)
array[:half] = numpy.random.default_rng(1).integers(0, 256, half, dtype=numpy.uint8)
text = b"".join(b"request %09d of customer %05d was answered\n" % (n, n * 7919 % 99991) for n in range(half // 49 + 1))
array[half:] = numpy.frombuffer(text, dtype=numpy.uint8)[: len(array) - half]
del text
hot = array[-(1 << 20) :]
Path("/var/cache").mkdir(parents=True, exist_ok=True)
Path("/var/cache/model").write_bytes(array[: KEPT << 20].tobytes())


def work() -> None:
    """Rewrite a mebibyte each second."""
    number = 0
    while True:
        number += 1
        hot[:] = number % 251
        time.sleep(1)


class Answer(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for _ in self.rfile:
            digest = hashlib.sha256(array[: -(1 << 20)].data)
            digest.update(Path("/var/cache/model").read_bytes())
            self.wfile.write(digest.hexdigest().encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


threading.Thread(target=work, daemon=True).start()
Server(("0.0.0.0", 5202), Answer).serve_forever()
