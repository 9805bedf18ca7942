"""The process that carries BillingRecords into the database and compares both."""
