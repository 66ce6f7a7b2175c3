"""The ASGI application and its server: listeners (TCP, unix socket, TLS), and connections with their limits."""
