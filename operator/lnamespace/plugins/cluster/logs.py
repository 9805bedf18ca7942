"""Separate kubectl's log, which `-v` asks for, from its messages."""

from __future__ import annotations

LEVELS = "IWEF"  # info, warning, error, fatal: the first letter of a line of klog
CONTINUED = ("\t", " >")  # lines of a value that has several


def cut_log(output: str) -> tuple[str, str]:
    """Return kubectl's messages, and the lines of its log."""
    messages, log = list[str](), list[str]()
    chosen = messages
    for line in output.splitlines(keepends=True):
        if _begins_entry(line):
            chosen = log
        elif not (chosen is log and line.startswith(CONTINUED)):
            chosen = messages
        chosen.append(line)
    return "".join(messages), "".join(log)


def _begins_entry(line: str) -> bool:
    """Return whether a line begins as `I1127 09:16:56.566339` does."""
    date, time = line[1:5], line[6:14].split(":")
    return line[:1] in LEVELS and date.isdigit() and len(time) == 3 and "".join(time).isdigit()
