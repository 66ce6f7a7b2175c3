"""The web UI in a browser: Debian's Chromium, against a real controller."""
