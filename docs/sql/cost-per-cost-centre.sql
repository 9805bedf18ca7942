-- What did each cost centre cost in a month, as the invoice has it?
--
-- Set three things: the month (2026-11-01, three times), the detailed export of your billing
-- account, and the ledger's view. Only what GKE attributes to a cluster is counted (cost allocation
-- must be on in the cluster). The net_cost of all rows is the net cost of those lines, exactly.
--   A line whose window has several payers is divided by the time for which each of them paid.
--   SHARED       the cluster's own: system overhead, idle capacity, the control plane's fee
--   UNALLOCATED  a namespace of which the ledger does not know who pays
WITH bill AS (
  SELECT
    UPPER(currency) AS currency,
    usage_start_time,
    usage_end_time,
    project.id AS project_id,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'goog-k8s-cluster-location') AS cluster_location,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'goog-k8s-cluster-name') AS cluster_name,
    (SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = 'k8s-namespace') AS namespace,
    CAST(cost AS NUMERIC)
      + IFNULL((SELECT SUM(CAST(c.amount AS NUMERIC)) FROM UNNEST(credits) AS c), 0) AS net_cost
  FROM `finance.export.gcp_billing_export_resource_v1_XXXXXX_XXXXXX_XXXXXX`
  WHERE invoice.month = FORMAT_DATE('%Y%m', DATE '2026-11-01')
    -- The export is partitioned by the day of its writing: read what can be of the month, and no
    -- more. Google writes the last lines of a month within the first days of the next one.
    AND _PARTITIONTIME >= TIMESTAMP(DATE_SUB(DATE '2026-11-01', INTERVAL 1 DAY))
    AND _PARTITIONTIME < TIMESTAMP(DATE_ADD(DATE '2026-11-01', INTERVAL 2 MONTH))
),
cost AS (
  SELECT project_id, cluster_location, cluster_name, namespace, currency,
    usage_start_time, usage_end_time, SUM(net_cost) AS net_cost
  FROM bill
  WHERE cluster_name IS NOT NULL
  GROUP BY 1, 2, 3, 4, 5, 6, 7
),
-- Two clusters of the same names, one in the place of the other: the view has the spans of
-- both, and the bill cannot tell them apart. Who began last pays.
span AS (
  SELECT
    project_id, cluster_location, cluster_name, namespace, cost_center, valid_from, valid_to,
    LEAD(valid_from) OVER (
      PARTITION BY project_id, cluster_location, cluster_name, namespace
      ORDER BY valid_from, IFNULL(valid_to, TIMESTAMP '9999-12-31'), cost_center
    ) AS next_from
  FROM `finance.billing.lnamespace_billing_events_intervals`
),
ledger AS (
  SELECT
    project_id, cluster_location, cluster_name, namespace, cost_center, valid_from,
    CASE WHEN valid_to IS NULL OR next_from < valid_to THEN next_from ELSE valid_to END AS valid_to
  FROM span
  WHERE next_from IS NULL OR next_from > valid_from
),
part AS (
  SELECT
    cost.*,
    ledger.cost_center,
    ledger.valid_from,
    TIMESTAMP_DIFF(
      LEAST(IFNULL(ledger.valid_to, cost.usage_end_time), cost.usage_end_time),
      GREATEST(ledger.valid_from, cost.usage_start_time),
      MICROSECOND
    ) AS paid
  FROM cost
  LEFT JOIN ledger
    ON ledger.project_id = cost.project_id
    AND ledger.cluster_location = cost.cluster_location
    AND ledger.cluster_name = cost.cluster_name
    AND ledger.namespace = cost.namespace
    AND ledger.valid_from < cost.usage_end_time
    AND (ledger.valid_to IS NULL OR ledger.valid_to > cost.usage_start_time)
),
running AS (
  SELECT
    *,
    SUM(paid) OVER (
      PARTITION BY project_id, cluster_location, cluster_name, namespace, currency,
        usage_start_time, usage_end_time
      ORDER BY valid_from ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS paid_until,
    SUM(paid) OVER (
      PARTITION BY project_id, cluster_location, cluster_name, namespace, currency,
        usage_start_time, usage_end_time
    ) AS paid_in_all
  FROM part
),
charged AS (
  SELECT
    cost_center,
    namespace,
    currency,
    -- In whole billionths, and each part as the difference of two running totals: what is cut off
    -- one part is in the next one, so that the parts are the whole.
    CASE
      WHEN paid_in_all IS NULL THEN net_cost
      ELSE (
        DIV(net_cost * 1000000000 * paid_until, paid_in_all)
        - DIV(net_cost * 1000000000 * (paid_until - paid), paid_in_all)
      ) * NUMERIC '0.000000001'
    END AS net_cost
  FROM running
),
named AS (
  SELECT
    CASE
      WHEN NULLIF(cost_center, '') IS NOT NULL THEN 'payer'
      WHEN IFNULL(namespace, '') = '' THEN 'shared'
      WHEN STARTS_WITH(namespace, 'kube:') OR STARTS_WITH(namespace, 'kube-') THEN 'shared'
      WHEN STARTS_WITH(namespace, 'goog-k8s-') THEN 'shared'
      ELSE 'unallocated'
    END AS kind,
    cost_center,
    currency,
    net_cost
  FROM charged
)
SELECT
  CASE kind WHEN 'payer' THEN cost_center ELSE UPPER(kind) END AS cost_center,
  kind,
  currency,
  SUM(net_cost) AS net_cost
FROM named
GROUP BY 1, 2, 3
ORDER BY 3, 4 DESC, 1
