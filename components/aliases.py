"""The names by which Haystack loads Lexarbor's classes from a pipeline file.

Haystack loads a class from a file only out of a few packages, and asks the class itself, by its
`__module__`, where it is from. One of these packages is `haystack_integrations`, so each of our
components and stores has a module there that re-exports it, and names that one as its own.
"""

import re

_KINDS = (
    "builders|converters|embedders|evaluators|generators|joiners|preprocessors|rankers|retrievers"
)


def trusted_name(name: str) -> str:
    """The name in `haystack_integrations` of a component, a store or its module.

    Args:
        name: dotted, as in `components`; any other is returned as it is.
    """
    name = re.sub(r"^components\.stores\.", "haystack_integrations.document_stores.lexarbor.", name)
    ours = rf"^components\.({_KINDS})\."
    return re.sub(ours, r"haystack_integrations.components.\1.lexarbor.", name)
