"""For all tests."""

import signal

# A suite started in the background inherits an ignored SIGINT, and so would every process that a test starts and then
# interrupts as a person at the keyboard would.
signal.signal(signal.SIGINT, signal.default_int_handler)
