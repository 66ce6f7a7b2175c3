"""Webhooks: events, as they happen, to programs that wait for them (docs/operate/webhooks.md).

`webhooks.py` has what operators do, `dispatcher.py` and `sender.py` what the leader does for each receiver, `post.py`
one attempt, and `signature.py` the proof of the sender."""
