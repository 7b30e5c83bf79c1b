"""Numeric functions held against their symbolic twins, evaluated to 50 digits, over the whole legal domain."""
