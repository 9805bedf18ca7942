"""The ledger in a database: its table, its views, and a connection from a URL."""
