"""BillingRecords: the events in etcd that the ledger's database does not have yet."""
