SELECT `lnamespace_billing_events`.`event_id`, `lnamespace_billing_events`.`lnamespace_uid`, `lnamespace_billing_events`.`recorded_at`
FROM `project.dataset`.`lnamespace_billing_events` JOIN (SELECT DISTINCT `lnamespace_billing_events`.`corrects` AS `corrects`, `lnamespace_billing_events`.`namespace` AS `namespace`
FROM `project.dataset`.`lnamespace_billing_events`
WHERE `lnamespace_billing_events`.`operation` = :operation_1 OR `lnamespace_billing_events`.`operation` = :operation_2) AS `taken_back` ON `taken_back`.`corrects` = `lnamespace_billing_events`.`event_id`
WHERE `lnamespace_billing_events`.`operation` = :operation_3
