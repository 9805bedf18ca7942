"""The publisher: the process that writes BillingRecords into the database.

* :mod:`~lnamespace.ledger.publisher.process` - the process, and its loop.
* :mod:`~lnamespace.ledger.publisher.backlog` - the records to write, in order; a batch,
  of which the database may refuse rows.
* :mod:`~lnamespace.ledger.publisher.deletion_recorder` - records deletions while the controller is
  down; :mod:`~lnamespace.ledger.publisher.pending_deletions` - until they are complete.
* :mod:`~lnamespace.ledger.publisher.comparison` - the records that the ledger lacks; pure.
* :mod:`~lnamespace.ledger.publisher.reconciliation` - reads both, compares, and repairs.
"""
