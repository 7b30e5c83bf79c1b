"""numpydoc's validator over everything that ``import airtight`` gives: ``python tests/docstrings.py``, a part of ``make lint``.

Rules that ask for sections where a sentence does (See Also, extended summary, Returns of a property, types that the signature
has) are left out; what is checked is that nothing is undocumented, unknown, out of order or empty.
"""

from __future__ import annotations

import inspect
import sys

import airtight

RULES = {
    "GL06": "an unknown section",
    "GL07": "sections in another order",
    "GL08": "no docstring",
    "SS01": "no summary",
    "SS06": "a summary of more than one line",
    "PR01": "a parameter that is not described (functions)",
    "PR02": "a parameter that does not exist",
    "PR03": "parameters in another order",
    "PR07": "a parameter without a description",
    "RT03": "a return value without a description",
    "YD01": "no Yields section",
}
CLASSES = RULES.keys() - {"PR01"}  # their fields are attributes, which the types describe


def documented() -> dict[str, set[str]]:
    """Objects by name, with the rules for each: public functions, classes and their own public methods."""
    names: dict[str, set[str]] = {}
    for each in (getattr(airtight, name) for name in airtight.__all__):
        if not hasattr(each, "__qualname__"):
            continue
        path = f"{each.__module__}.{each.__qualname__}"
        names[path] = set(CLASSES) if inspect.isclass(each) else set(RULES)
        if inspect.isclass(each):
            fields = getattr(each, "__dataclass_fields__", {})  # a default that is a function is no method
            methods = (name for name, value in vars(each).items() if inspect.isfunction(value) and name not in fields)
            own = (name for name in methods if not name.startswith("_"))
            names |= {f"{path}.{name}": set(CLASSES) for name in own}
    return names


def main() -> int:
    from numpydoc.validate import validate

    faults = [
        f"{name}: {code} {message}"
        for name, rules in documented().items()
        for code, message in validate(name)["errors"]
        if code in rules
    ]
    print("\n".join(faults) or f"{len(documented())} docstrings of the public names are whole", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
