SELECT `lnamespace_billing_events`.`lnamespace_uid`, max(`lnamespace_billing_events`.`event_id`) AS `event_id`
FROM `project.dataset`.`lnamespace_billing_events` LEFT OUTER JOIN (SELECT DISTINCT `lnamespace_billing_events`.`corrects` AS `corrects`, `lnamespace_billing_events`.`namespace` AS `namespace`
FROM `project.dataset`.`lnamespace_billing_events`
WHERE `lnamespace_billing_events`.`operation` = :operation_1 OR `lnamespace_billing_events`.`operation` = :operation_2) AS `taken_back` ON `taken_back`.`corrects` = `lnamespace_billing_events`.`event_id`
WHERE `lnamespace_billing_events`.`operation` = :operation_3 AND `taken_back`.`corrects` IS NULL AND `lnamespace_billing_events`.`lnamespace_uid` IN UNNEST(:lnamespace_uid_1) GROUP BY `lnamespace_billing_events`.`lnamespace_uid`
