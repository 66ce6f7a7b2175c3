"""The Ansible collection in deploy/ansible: playbooks that run against a controller (tests/unit/test_ansible.py)."""
