"""The ledger's promises, tried on a real BigQuery project."""
