CREATE TABLE `project.dataset`.`lnamespace_billing_events` (
	`event_id` STRING NOT NULL OPTIONS(description='The id of the event: UID/GENERATION/APPLY, UID/DELETE, or the event that it corrects and /RETRACT or /VOID.'),
	`project_id` STRING OPTIONS(description="The project of the cluster, as the cloud's bill has it."),
	`cluster_location` STRING OPTIONS(description="The location of the cluster, as the cloud's bill has it."),
	`cluster_name` STRING OPTIONS(description="The name of the cluster, as the cloud's bill has it."),
	`namespace` STRING OPTIONS(description='The namespace that costs, by which the bill is joined.'),
	`lnamespace_uid` STRING OPTIONS(description='The UID of the LNamespace; others may have had its name.'),
	`generation` INT64 OPTIONS(description='The generation of the LNamespace with which this began.'),
	`operation` STRING OPTIONS(description='APPLY: this payer pays from valid_from on. DELETE: nobody does. RETRACT: this row replaces the event in corrects. VOID: the event in corrects does not count.'),
	`valid_from` TIMESTAMP OPTIONS(description='When this took effect; of an interval, its beginning.'),
	`recorded_at` TIMESTAMP OPTIONS(description='When the record was made.'),
	`requester` STRING OPTIONS(description='Who created the LNamespace.'),
	`changed_by` STRING OPTIONS(description='Who made this change.'),
	`billing_source` STRING OPTIONS(description='The rule that chose the payer.'),
	`billing_source_group` STRING OPTIONS(description='The group whose entry chose the payer.'),
	`cost_center` STRING OPTIONS(description='The cost centre that is charged.'),
	`owner` STRING OPTIONS(description='Who answers for the cost.'),
	`team` STRING OPTIONS(description='The team that the cost belongs to.'),
	`environment` STRING OPTIONS(description='Such as production, staging.'),
	`labels` STRING OPTIONS(description='Further keys, as JSON.'),
	`api_group` STRING OPTIONS(description='The instance of LNamespace on that cluster; NULL: the default one.'),
	`operator_version` STRING OPTIONS(description='The version of LNamespace that made the row.'),
	`schema_version` INT64 OPTIONS(description='The version of the columns at that time.'),
	`cluster_uid` STRING OPTIONS(description='The UID of Namespace kube-system, by which clusters of the same names differ.'),
	`corrects` STRING OPTIONS(description='The event_id of the event that this one corrects.'),
	`reason` STRING OPTIONS(description='Why somebody corrected it, in their words.')
) PARTITION BY TIMESTAMP_TRUNC(valid_from, DAY)
CLUSTER BY cluster_name, namespace
OPTIONS(description='Who pays for which namespace: one row for each change, never edited and never deleted. Read the view of intervals.')
