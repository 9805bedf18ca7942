"""The reference of the chart: every value, from the comments in its values.yaml."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from docsite.markdown import code, page, prose, table

VALUES = Path(__file__).resolve().parents[2] / "charts" / "lnamespace" / "values.yaml"


_PODS = {
    "annotations": "Of the ServiceAccount.",
    "logFormat": "text or json.",
    "logLevel": "debug, info, warning or error.",
    "replicas": "How many pods.",
}
_PODS |= dict.fromkeys(("priorityClassName", "nodeSelector", "tolerations"), "As in a PodSpec.")
_PODS |= dict.fromkeys(("affinity", "podAnnotations", "requests", "limits"), "As in a PodSpec.")
_PODS |= dict.fromkeys(("podLabels", "extraEnv", "extraEnvFrom"), "As in a PodSpec.")
_PODS |= dict.fromkeys(("extraVolumes", "extraVolumeMounts", "extraContainers"), "As in a PodSpec.")
_PODS |= dict.fromkeys(("topologySpreadConstraints", "metricRelabelings"), "In Kubernetes' words.")
"""The meaning of keys that need no comment, wherever they are."""


def values(text: str) -> str:
    """Return every value of the chart, with its default and its comment."""
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode):
        raise TypeError("values.yaml must be a mapping")
    return page(
        "Values of the chart",
        "`helm install ... --set KEY=VALUE`, or a file with `-f`. `values.schema.json` refuses "
        "what cannot work.",
        table(("value", "default", ""), _rows(root, text.splitlines(), "")),
    )


def _rows(node: yaml.MappingNode, lines: list[str], path: str) -> Iterator[tuple[str, str, str]]:
    for key, value in node.value:
        here = f"{path}{key.value}"
        comment = _comment(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            if comment:
                yield f"**{here}**", "", prose(comment)
            yield from _rows(value, lines, f"{here}.")
        else:
            yield code(here), code(_default(value)), prose(comment or _PODS.get(key.value, ""))


def _comment(lines: list[str], line: int) -> str:
    found: list[str] = []
    for above in reversed(lines[:line]):
        if not above.lstrip().startswith("#"):
            break
        found.append(above.lstrip().removeprefix("#").strip())
    return " ".join(reversed(found))


def _default(node: yaml.Node) -> str:
    value = yaml.SafeLoader("").construct_object(node, deep=True)
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()
