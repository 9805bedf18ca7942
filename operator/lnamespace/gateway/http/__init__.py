"""HTTP/1.1 in both directions, on asyncio's own transports and llhttp's parser.

A request costs a tenth of a millisecond here, where a framework takes three times that
(docs/decisions/0042-gateway-transport.md).

- :mod:`~lnamespace.gateway.http.messages`: headers, requests, heads of answers.
- :mod:`~lnamespace.gateway.http.server`: the listener, and the limits of all connections together.
- :mod:`~lnamespace.gateway.http.accepting`: accepts connections, and bounds unfinished handshakes.
- :mod:`~lnamespace.gateway.http.exchange`: one request, and the means to answer it;
  :mod:`~lnamespace.gateway.http.websocket`: an answer as messages of a WebSocket.
- :mod:`~lnamespace.gateway.http.connection`: one client's connection, and the request that
  is :mod:`~lnamespace.gateway.http.arriving` by it.
- :mod:`~lnamespace.gateway.http.limits`: limits of clients.
- :mod:`~lnamespace.gateway.http.upstream`: connections to the platform's API server;
  :mod:`~lnamespace.gateway.http.upstream_connection`: one of them, and its present answer.
- :mod:`~lnamespace.gateway.http.flow`: flow control in both directions.
"""
