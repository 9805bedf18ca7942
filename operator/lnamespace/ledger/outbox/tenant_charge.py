"""Charge the namespaces of a tenant's cluster, each as if it were an LNamespace. Pure.

The ledger knows namespaces by the UID and name that the cloud's bill has. For a namespace of an
LCluster these are those of the Namespace upstream, and the charge is that of the LCluster.
"""

from datetime import datetime

import msgspec

from lnamespace.model.billing import Billing, Charge, Provenance
from lnamespace.model.lcluster import ChargedNamespace, LCluster
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status


def as_lnamespace(lcluster: LCluster, namespace: ChargedNamespace, recorded: int = 0) -> LNamespace:
    """Return the LNamespace that would be charged like a namespace of a tenant.

    Parameters
    ----------
    recorded
        The newest generation of the charge that the ledger knows of for this namespace.
    """
    billing = _charges_since(lcluster.spec.billing, namespace.created)
    return LNamespace(
        Metadata(
            namespace.name,
            uid=namespace.uid,
            generation=lcluster.metadata.generation,
            creation_timestamp=namespace.created or None,
        ),
        Spec(requester=lcluster.spec.requester, billing=billing),
        Status(namespace_uid=namespace.uid, recorded=Recorded(recorded)),
    )


def charged_lnamespaces(lcluster: LCluster) -> tuple[LNamespace, ...]:
    """Return the Namespaces that are charged to a tenant in the ledger, as LNamespaces."""
    recorded = lcluster.status.recorded.generation
    return tuple(as_lnamespace(lcluster, each, recorded) for each in lcluster.status.charged)


def _charges_since(billing: Billing, created: str) -> Billing:
    """Return a billing without former charges that had ended when a namespace was created."""
    charges = (*billing.superseded, billing)
    ends = (_begin(charge) for charge in charges[1:])
    since = datetime.fromisoformat(created) if created else None
    kept = tuple(
        charge
        for charge, end in zip(billing.superseded, ends, strict=True)
        if since is None or end is None or end > since
    )
    return msgspec.structs.replace(billing, superseded=kept)


def _begin(charge: Charge) -> datetime | None:
    origin = charge.provenance
    return origin.effective_at if isinstance(origin, Provenance) else None
