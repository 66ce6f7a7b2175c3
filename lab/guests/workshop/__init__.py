"""The image `workshop`: the lab's guest, and a disk with a compiler, SQLite and Redis, for benchmarks of machines that
do real work. `build` makes it; `begin` and what it calls are the guest's."""
