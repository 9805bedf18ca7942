"""What every long-running process needs: the controller, the webhook, the gateway, the publisher.

* :mod:`.addresses` - where a process listens.
* :mod:`.lifecycle` - work in the background, and a graceful end at SIGTERM and SIGINT.
* :mod:`.memory` - memory of long buffers, and Python's search for cycles.
* :mod:`.steps` - long work in steps, between which others run.
* :mod:`.logs` - log records as text or as JSON.
* :mod:`.lines` - lines of a log of ours, written by a thread.
* :mod:`.tables`, :mod:`.texts` - rows, and names of many objects, as people read them.
* :mod:`.certificates` - certificates as we make them, and as OpenSSL reads them.
"""
