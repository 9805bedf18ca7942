"""A cloud's bill, divided among those who paid for its namespaces.

* :mod:`~lnamespace.ledger.costs.cells` - read the heading and the cells of a bill;
  :mod:`~lnamespace.ledger.costs.bill` - read its lines.
* :mod:`~lnamespace.ledger.costs.intervals` - read from the ledger who paid when.
* :mod:`~lnamespace.ledger.costs.lclusters` - which LCluster an interval is of; pure.
* :mod:`~lnamespace.ledger.costs.allocation` - divide the lines among the payers; pure.
* :mod:`~lnamespace.ledger.costs.distribution` - distribute the shared cost; pure.
"""
