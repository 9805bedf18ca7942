"""The demo: a story played by real users on a real control plane, and checked line by line.

* :mod:`~story.script` - the story itself. Start here.
* :mod:`~story.stage` - what it is played on: a cluster, the chart, the controller, the people.
* :mod:`~story.console` - how it looks.
* :mod:`~story.cli` - the command.
"""
