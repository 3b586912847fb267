"""Makes Google's style of the docstrings: their own headings and examples."""

import re

import griffe

EXAMPLE = re.compile(r"^(>>> .*\n?(?:.+\n?)*)", re.M)


class KerasDocstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring is not None:
            text = EXAMPLE.sub(r"```pycon\n\1\n```\n", obj.docstring.value)
            heading = "Other Parameters: Call arguments\n"
            obj.docstring.value = text.replace("Call arguments:\n", heading)
