"""The image `workshop`: the lab's guest, and a disk with a compiler, SQLite, Redis and Python, for benchmarks of
machines that do real work. `build` makes it; `begin` and what it calls are the guest's."""
