"""Remove names of the platform's policies and webhooks from refusals for tenants."""

import re

from lnamespace.translate.names.tenant_view import TenantView

_POLICY = re.compile(
    r"((?:Validating|Mutating)AdmissionPolicy) '([^']*)' with binding '[^']*' (denied request: )?"
)
_EXPRESSION = re.compile(r"expression '.*' resulted in error: |failed expression: ", re.DOTALL)
_DIALLED = re.compile(r"failed to call webhook: (?:[A-Z][a-z]+ )?\"https?://([^/\"]+).*", re.DOTALL)
_UNANSWERED = "failed to call webhook: a webhook of the platform does not answer"


def without_platform(view: TenantView, text: str) -> str:
    """Return the text of a refusal without names, addresses and expressions of the platform's.

    A policy of the tenant has the prefix, and its webhooks are called through the gateway. The
    message that a policy's author wrote stays.
    """
    if "AdmissionPolicy '" in text:
        text = _policies(view, text)
    found = _DIALLED.search(text) if "failed to call webhook" in text else None
    if found and not _is_own(view, found[1]):
        text = text[: found.start()] + _UNANSWERED
    return text


def _policies(view: TenantView, text: str) -> str:
    found = _POLICY.search(text)
    if found is None or found[2].startswith(view.prefix):
        return text
    said = text[found.end() :]
    if _EXPRESSION.match(said):
        said = "an expression failed"
    return f"{text[: found.start()]}{found[1]} of the platform {found[3] or ''}{said}"


def _is_own(view: TenantView, host: str) -> bool:
    route = view.webhook_route
    return route is not None and host.partition(":")[0] == route.service.host
