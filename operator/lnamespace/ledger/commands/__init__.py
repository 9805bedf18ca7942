"""``lnamespace ledger``: its arguments, its commands, and how it prints rows."""
