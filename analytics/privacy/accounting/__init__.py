"""Accounting: privacy curves, privacy loss distributions, composition, trade-offs, exchange with other libraries."""
