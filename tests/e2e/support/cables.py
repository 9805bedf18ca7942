"""A cable between two programs: what it passes on may be cut, or forgotten at one end."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml

_CHUNK = 65536


class Cable:
    """A port of this machine whose connections are passed on to another port."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._turn = threading.Lock()
        self._forgotten: list[socket.socket] = []
        self._plugged = threading.Event()
        self._plugged.set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def connections(self) -> int:
        """Return the number of connections that are passed on."""
        return len(self._pairs)

    def cut(self) -> None:
        """Reset all connections at both ends; new ones are passed on."""
        with self._turn:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                _reset(end)

    def unplug(self) -> None:
        """Reset all connections, and pass none on until the cable is plugged in again."""
        self._plugged.clear()
        self.cut()

    def plug_in(self) -> None:
        """Pass connections on again."""
        self._plugged.set()

    def half_open(self) -> None:
        """Reset all connections at the near end; the far end notices nothing."""
        with self._turn:
            pairs, self._pairs = self._pairs, set()
        self._forgotten += [far for _, far in pairs]
        for near, _ in pairs:
            _reset(near)

    def remove(self) -> None:
        """Close the port and all connections."""
        _reset(self._listening)
        self.cut()
        for end in self._forgotten:
            _reset(end)

    def kubeconfig(self, like: Path, file: Path) -> Path:
        """Return a copy of a kubeconfig that leads through the cable."""
        document = yaml.safe_load(like.read_text())
        cluster = document["clusters"][0]["cluster"]
        url = urlsplit(cluster["server"])
        cluster["server"] = url._replace(netloc=f"127.0.0.1:{self.port}").geturl()
        file.write_text(yaml.safe_dump(document))
        file.chmod(0o600)
        return file

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if not self._plugged.is_set():
                _reset(near)
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                _reset(near)
                continue
            pair = near, far
            with self._turn:
                self._pairs.add(pair)
            for source, sink in (pair, (far, near)):
                threading.Thread(
                    target=self._pass_on, args=(pair, source, sink), daemon=True
                ).start()

    def _pass_on(
        self, pair: tuple[socket.socket, socket.socket], source: socket.socket, sink: socket.socket
    ) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                sink.sendall(data)
        with self._turn:
            ours = pair in self._pairs
            self._pairs.discard(pair)
        if ours:
            for end in pair:
                _reset(end)


def _reset(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def cable(port: int) -> Iterator[Cable]:
    """Yield a cable to a port of this machine."""
    it = Cable(port)
    try:
        yield it
    finally:
        it.remove()
