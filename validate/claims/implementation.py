"""Published implementations: the place of the code, the promise of its documentation, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Implementation:
    """The source of a claim about code; the law in the claim is our own formulation from reading the code.

    Attributes
    ----------
    repository : str
        GitHub repository ``owner/name``, or a package and its version, ``package 1.2``.
    commit : str
        The commit that was read; empty for a package with a version.
    file, function : str
    promise : str
        What the documentation says, in our words.
    mend : str
        What to change; empty where the promise is kept.
    """

    repository: str
    commit: str
    file: str
    function: str
    promise: str
    mend: str = ""

    @property
    def place(self) -> str:
        """Where a reader finds it.

        Examples
        --------
        >>> Implementation("a/b", "0123456789", "c.py", "f", "eps-LDP").place
        'a/b, c.py, f (0123456)'
        """
        at = f" ({self.commit[:7]})" if self.commit else ""
        return f"{self.repository}, {self.file}, {self.function}{at}"
