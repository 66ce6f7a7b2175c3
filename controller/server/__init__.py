"""The ASGI application and what it is served on: listeners (TCP, unix socket, TLS), connections and their limits."""
