"""The documentation's own tools: the reference from the code, and pictures for the site."""
