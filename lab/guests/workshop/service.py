"""A service in Python: 40,000 orders in memory, of which 200 a second are replaced.

Only modules of python3-minimal, without hashes and random numbers of its own."""

import os
import time

ORDERS = 40_000
EACH_TURN = 200


def order(number: int) -> dict[str, object]:
    articles = [f"article {os.urandom(2).hex()}, pieces: {piece}" for piece in range(6)]
    return {"number": number, "customer": os.urandom(12).hex(), "articles": articles}


orders = {number: order(number) for number in range(ORDERS)}
while True:
    for _ in range(EACH_TURN):
        number = int.from_bytes(os.urandom(4), "big") % ORDERS
        orders[number] = order(number)
    time.sleep(1)
