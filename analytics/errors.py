"""The base class of all errors, which needs no library."""


class AirtightError(Exception):
    """Base class of all errors that this toolkit raises on purpose."""
