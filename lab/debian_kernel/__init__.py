"""A guest whose root is this machine's, and whose kernel is Debian's: for tests of what this machine's kernel lacks."""
