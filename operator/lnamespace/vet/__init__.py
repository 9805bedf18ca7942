"""``lnamespace vet``: whether the users' role still gives what somebody found fit for tenants.

What is compared, and what is refused whoever looked, is :mod:`lnamespace.access.vetting`.

* :mod:`~lnamespace.vet.snapshot` - what was looked through, as files that people review.
* :mod:`~lnamespace.vet.cluster` - what the role gives now, and which roles it has that from.
* :mod:`~lnamespace.vet.report` - the difference, in words and as JSON.
* :mod:`~lnamespace.vet.command` - the command.
"""
