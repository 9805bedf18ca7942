CREATE TABLE `project.dataset`.`lnamespace_billing_events` (
	`event_id` STRING NOT NULL OPTIONS(description='What happened, once for ever: UID/GENERATION/APPLY, UID/DELETE, or what is corrected and /RETRACT or /VOID.'),
	`project_id` STRING OPTIONS(description="The project of the cluster, as the cloud's bill has it."),
	`cluster_location` STRING OPTIONS(description="The location of the cluster, as the cloud's bill has it."),
	`cluster_name` STRING OPTIONS(description="The name of the cluster, as the cloud's bill has it."),
	`namespace` STRING OPTIONS(description='The namespace that costs, by which the bill is joined.'),
	`lnamespace_uid` STRING OPTIONS(description='The LNamespace: tells it from others that had the name.'),
	`generation` INT64 OPTIONS(description='The state of the LNamespace since which it is so.'),
	`operation` STRING OPTIONS(description='APPLY: somebody pays from then on. DELETE: nobody does. RETRACT: the event that corrects names counts no more, and this counts. VOID: it counts no more.'),
	`valid_from` TIMESTAMP OPTIONS(description='Since when it is so.'),
	`recorded_at` TIMESTAMP OPTIONS(description='When it was written down.'),
	`requester` STRING OPTIONS(description='Who created the LNamespace.'),
	`changed_by` STRING OPTIONS(description='Who made it so.'),
	`billing_source` STRING OPTIONS(description='Why it is so: what said who pays.'),
	`billing_source_group` STRING OPTIONS(description='The group whose entry said it.'),
	`cost_center` STRING OPTIONS(description='The cost centre that is charged.'),
	`owner` STRING OPTIONS(description='Who answers for the cost.'),
	`team` STRING OPTIONS(description='The team that the cost belongs to.'),
	`environment` STRING OPTIONS(description='Such as production, staging.'),
	`labels` STRING OPTIONS(description='Further keys, as JSON.'),
	`api_group` STRING OPTIONS(description='The instance of LNamespace on that cluster; NULL: the default one.'),
	`operator_version` STRING OPTIONS(description='Which version made the row.'),
	`schema_version` INT64 OPTIONS(description='The version of the columns when it did.'),
	`cluster_uid` STRING OPTIONS(description='The cluster, whatever its names: the UID of its Namespace kube-system.'),
	`corrects` STRING OPTIONS(description='The event_id of the event that this one corrects.'),
	`reason` STRING OPTIONS(description='Why somebody corrected it, in their words.')
) PARTITION BY TIMESTAMP_TRUNC(valid_from, DAY)
CLUSTER BY cluster_name, namespace
OPTIONS(description='Who pays for which namespace: one row for each change, never edited and never deleted. Read the view of intervals.')
