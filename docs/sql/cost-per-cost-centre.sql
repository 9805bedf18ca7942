-- What did each cost centre cost in a month, as the invoice has it?
--
-- Set three things: the month, the detailed export of your billing account, and the ledger's view.
-- Only what GKE attributes to a cluster is counted (cost allocation must be on in the cluster).
-- A usage line goes to one payer as a whole: the last one within its hour, so that a namespace pays
-- from its first second and no line is counted twice.
--   SHARED       the cluster's own: system overhead, idle capacity, the control plane's fee
--   UNALLOCATED  a namespace of which the ledger does not know who pays
WITH ledger AS (
  SELECT *,
    LEAD(valid_from) OVER (
      PARTITION BY project_id, cluster_location, cluster_name, namespace ORDER BY valid_from
    ) AS next_from
  FROM `finance.billing.lnamespace_billing_events_intervals`
),
cost AS (
  SELECT
    currency,
    usage_start_time,
    usage_end_time,
    project.id AS project_id,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'goog-k8s-cluster-location') AS cluster_location,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'goog-k8s-cluster-name') AS cluster_name,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'k8s-namespace') AS namespace,
    CAST(cost AS NUMERIC)
      + IFNULL((SELECT SUM(CAST(c.amount AS NUMERIC)) FROM UNNEST(credits) AS c), 0) AS net_cost
  FROM `finance.export.gcp_billing_export_resource_v1_XXXXXX_XXXXXX_XXXXXX`
  WHERE invoice.month = '202611'
)
SELECT
  CASE
    WHEN NULLIF(ledger.cost_center, '') IS NOT NULL THEN ledger.cost_center
    WHEN cost.namespace IS NULL THEN 'SHARED'
    WHEN STARTS_WITH(cost.namespace, 'kube:') OR STARTS_WITH(cost.namespace, 'kube-') THEN 'SHARED'
    WHEN STARTS_WITH(cost.namespace, 'goog-k8s-') THEN 'SHARED'
    ELSE 'UNALLOCATED'
  END AS cost_center,
  cost.currency,
  ROUND(SUM(cost.net_cost), 2) AS net_cost
FROM cost
LEFT JOIN ledger
  ON ledger.project_id = cost.project_id
  AND ledger.cluster_location = cost.cluster_location
  AND ledger.cluster_name = cost.cluster_name
  AND ledger.namespace = cost.namespace
  AND ledger.valid_from < cost.usage_end_time
  AND (ledger.valid_to IS NULL OR ledger.valid_to > cost.usage_start_time)
  AND (ledger.next_from IS NULL OR ledger.next_from >= cost.usage_end_time)
WHERE cost.cluster_name IS NOT NULL
GROUP BY 1, 2
ORDER BY 2, 3 DESC, 1
