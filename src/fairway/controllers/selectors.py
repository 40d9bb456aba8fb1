"""Label selectors as workloads and Services carry them, and which labels they match.

The query-string form (`app in (a,b)`) belongs to the API server, not here.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.api.objects import View

Labels = Mapping[str, str]


class Requirement(View, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None

    def matches(self, labels: Labels) -> bool:
        present, value = self.key in labels, labels.get(self.key)
        match self.operator:
            case "In":
                return present and value in (self.values or ())
            case "NotIn":
                return not present or value not in (self.values or ())
            case "Exists":
                return present
            case "DoesNotExist":
                return not present
            case "Gt" | "Lt":
                return self._compares(value)
        return False

    def _compares(self, value: str | None) -> bool:
        """Gt and Lt, which only node selectors know: both sides have to be whole numbers."""
        try:
            left, right = int(value or ""), int((self.values or [""])[0])
        except ValueError:
            return False
        return left > right if self.operator == "Gt" else left < right


class LabelSelector(View, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None

    def matches(self, labels: Labels | None) -> bool:
        """An empty selector matches everything, as in the API."""
        have = labels or {}
        if self.match_labels and not contains(have, self.match_labels):
            return False
        return not self.match_expressions or all(r.matches(have) for r in self.match_expressions)

    @property
    def empty(self) -> bool:
        return not self.match_labels and not self.match_expressions


def contains(labels: Labels, wanted: Labels) -> bool:
    """Whether every wanted pair is among the labels (a Service's selector, a nodeSelector)."""
    return wanted.items() <= labels.items()
