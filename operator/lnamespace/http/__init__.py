"""HTTP/1.1 in both directions, on asyncio's own transports and llhttp's parser.

The webhook, the gateway and every process's probes are served by it. A request costs a tenth of a
millisecond here, where a framework takes three times that
(docs/decisions/0042-gateway-transport.md).

- :mod:`~lnamespace.http.messages`: headers, requests, heads of answers.
- :mod:`~lnamespace.http.server`: the listener, and the limits of all connections together.
- :mod:`~lnamespace.http.accepting`: accepts connections, and bounds unfinished handshakes.
- :mod:`~lnamespace.http.exchange`: one request, and the means to answer it;
  :mod:`~lnamespace.http.websocket`: an answer as messages of a WebSocket.
- :mod:`~lnamespace.http.connection`: one client's connection, and the request that
  is :mod:`~lnamespace.http.arriving`; :mod:`~lnamespace.http.refusals`: of data that is no request.
- :mod:`~lnamespace.http.limits`: limits of clients.
- :mod:`~lnamespace.http.upstream`: connections to the platform's API server;
  :mod:`~lnamespace.http.upstream_connection`: one of them, and its present answer.
- :mod:`~lnamespace.http.probes`: liveness, readiness and metrics of a process.
- :mod:`~lnamespace.http.flow`: flow control in both directions.
"""
