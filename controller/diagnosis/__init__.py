"""The doctor at work (docs/reference/doctor.md): `doctor.py` reads what `controller.core.doctor` compares, from the
route servers (`route_servers.py`), the database (`rows.py`) and the agents' reports."""
