"""Parameter tables for the API page, out of signatures and of what docstrings say as ``name``: description."""

import re

from griffe import Docstring, Extension

CLAUSE = re.compile(r"(?<!e\.g)[.;]\s+(?=``)|\n\n")
NAMES = re.compile(r"((?:``\w+``(?:, | and )?)+):?\s+(.+)", re.S)
ROLE = re.compile(r":(?:class|func|meth|data|mod|attr):``?([^`]+)``?|:(?:class|func|meth|data|mod|attr):`([^`]+)`")


def without_roles(text):
    """Roles of Sphinx as plain code, by the last part of their name."""
    return ROLE.sub(lambda m: f"`{(m[1] or m[2]).rpartition('.')[2]}`", text)


def descriptions(text):
    """What the docstring says of each parameter, as one line: clauses that begin with names."""
    found = {}
    for clause in CLAUSE.split(text):
        told = NAMES.match(clause.strip())
        if told:
            line = " ".join(told[2].split()).rstrip(".") + "."
            found |= {name: line for name in re.findall(r"``(\w+)``", told[1]) if name not in found}
    return found


class Parameters(Extension):
    """Adds the table to every public function and method with parameters of its own."""

    def on_object(self, *, obj, **_):
        if obj.docstring is None:
            return
        text = without_roles(obj.docstring.value)
        if obj.is_function:
            named = [p.name for p in obj.parameters if p.name not in ("self", "cls")]
            if named and not re.search(r"^(Parameters|Args)\b", text, re.M):
                told = descriptions(text)
                rows = "\n".join(f"    {n}: {told.get(n.lstrip('*'), 'See above.')}" for n in named)
                text = f"{text.rstrip()}\n\nArgs:\n{rows}\n"
        obj.docstring = Docstring(text, lineno=obj.docstring.lineno, endlineno=obj.docstring.endlineno, parent=obj)
