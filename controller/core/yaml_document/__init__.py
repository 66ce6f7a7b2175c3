"""YAML documents that operators write, and the place of everything in them: read (`document`), compared with a JSON
schema (`form`), and written (`writing`). `controller.core.policy` and `controller.core.inventory` give them a
meaning."""
