INSERT INTO `project.dataset`.`lnamespace_billing_events` (`event_id`, `namespace`, `generation`, `valid_from`) SELECT `batch`.`event_id`, `batch`.`namespace`, `batch`.`generation`, `batch`.`valid_from`
FROM (SELECT :event_id_0 AS `event_id`, :namespace_0 AS `namespace`, :generation_0 AS `generation`, :valid_from_0 AS `valid_from` UNION ALL SELECT :event_id_1 AS `event_id`, :namespace_1 AS `namespace`, :generation_1 AS `generation`, :valid_from_1 AS `valid_from`) AS `batch`
WHERE NOT (EXISTS (SELECT 1
FROM `project.dataset`.`lnamespace_billing_events`
WHERE `lnamespace_billing_events`.`event_id` = `batch`.`event_id` AND `lnamespace_billing_events`.`valid_from` >= :known_since))
