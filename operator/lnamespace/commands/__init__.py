"""The commands of ``lnamespace`` that belong to no process.

* :mod:`.check` - whether the API server reaches the webhook.
* :mod:`.migration` - every LNamespace in the storage version of today.
* :mod:`.samples` - the objects in docs/resource-samples.

The others are beside what they are about: ``ledger/commands``, ``gateway/check``, ``vet`` and
``payers/command.py``.
"""
