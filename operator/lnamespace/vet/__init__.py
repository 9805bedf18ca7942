"""``lnamespace vet``: compare the users' role with the rights that were vetted for tenants.

:mod:`lnamespace.access.vetting` compares, and refuses rights that no tenant may have.

* :mod:`~lnamespace.vet.command` - the command.
* :mod:`~lnamespace.vet.cluster` - read a role, and the roles that are aggregated into it.
* :mod:`~lnamespace.vet.snapshot` - vetted rights as files that people review.
* :mod:`~lnamespace.vet.report` - the difference, as a table and as JSON.
"""
