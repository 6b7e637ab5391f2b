"""What the members of a model mean: the sentences right under them, for documents made from them.

pydantic can put these sentences into its models (`use_attribute_docstrings`), but it reads and
parses the sources for that whenever they are imported: some 40 ms of a daemon's start, for words
that only documents need.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


def member_docs(model: type[BaseModel]) -> dict[str, str]:
    """What stands under each member of a model, inherited ones too, by their names in Python."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            docs |= _docs_of_module(base.__module__).get(base.__name__, {})
    return docs


@cache
def _docs_of_module(name: str) -> dict[str, dict[str, str]]:
    """The sentences in a module, by class and member."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {node.name: _docs_of_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _docs_of_class(node: ast.ClassDef) -> dict[str, str]:
    docs = {}
    for member, below in pairwise(node.body):
        if not isinstance(member, ast.AnnAssign) or not isinstance(member.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            docs[member.target.id] = inspect.cleandoc(str(below.value.value))
    return docs
