"""A bill divided among those who pay for its namespaces."""
