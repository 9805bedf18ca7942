"""``lnamespace ledger``, for people.

* :mod:`~lnamespace.ledger.commands.arguments` - the options of its commands.
* :mod:`~lnamespace.ledger.commands.dispatch` - run a command, and explain errors.
* :mod:`~lnamespace.ledger.commands.reports` - the commands that read;
  :mod:`~lnamespace.ledger.commands.costs` - one of them.
* :mod:`~lnamespace.ledger.commands.maintenance` - the commands that write;
  :mod:`~lnamespace.ledger.commands.correct` - one of them.
* :mod:`~lnamespace.ledger.commands.output` - print rows as a table, CSV or JSON.
"""
