"""Figures that anybody can run again: `make bench`.

Every figure stands beside a plain alternative measured in the same run: a bare asyncio client that
writes the very same objects with the same credentials, or plain kubectl. Ratios are what counts.
"""
