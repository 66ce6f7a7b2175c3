"""Errors of a database that cannot do what it is asked, through no fault of the caller's."""


class Unavailable(Exception):  # noqa: N818 - a condition that passes
    """The database cannot do now what it is asked. A transaction that was being committed may have been committed."""


class Beaten(Unavailable):
    """Another transaction was quicker, and this one has done nothing: it may be tried again."""
