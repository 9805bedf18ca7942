"""What the ledger's columns mean, for whoever meets the table in a database's own tools."""

from collections.abc import Mapping

TABLE = (
    "Who pays for which namespace: one row for each change, never edited and never deleted. "
    "Read the view of intervals."
)

COLUMNS: Mapping[str, str] = {
    "event_id": "What happened, once for ever: UID/GENERATION/APPLY, UID/DELETE, or what is "
    "corrected and /RETRACT or /VOID.",
    "project_id": "The project of the cluster, as the cloud's bill has it.",
    "cluster_location": "The location of the cluster, as the cloud's bill has it.",
    "cluster_name": "The name of the cluster, as the cloud's bill has it.",
    "namespace": "The namespace that costs, by which the bill is joined.",
    "lnamespace_uid": "The LNamespace: tells it from others that had the name.",
    "generation": "The state of the LNamespace since which it is so.",
    "operation": "APPLY: somebody pays from then on. DELETE: nobody does. RETRACT: the event that "
    "corrects names counts no more, and this counts. VOID: it counts no more.",
    "valid_from": "Since when it is so.",
    "valid_to": "Until when (excluded); NULL: it is so still.",
    "recorded_at": "When it was written down.",
    "requester": "Who created the LNamespace.",
    "changed_by": "Who made it so.",
    "billing_source": "Why it is so: what said who pays.",
    "billing_source_group": "The group whose entry said it.",
    "cost_center": "The cost centre that is charged.",
    "owner": "Who answers for the cost.",
    "team": "The team that the cost belongs to.",
    "environment": "Such as production, staging.",
    "labels": "Further keys, as JSON.",
    "api_group": "The instance of LNamespace on that cluster; NULL: the default one.",
    "operator_version": "Which version made the row.",
    "schema_version": "The version of the columns when it did.",
    "cluster_uid": "The cluster, whatever its names: the UID of its Namespace kube-system.",
    "corrects": "The event_id of the event that this one corrects.",
    "reason": "Why somebody corrected it, in their words.",
}
