"""Certificates: verdicts that a stranger checks without this package, and their form for Coq."""
