"""The provider for Terraform and OpenTofu: a Go module (`internal`, `cmd`), and its release as a filesystem mirror
(`mirror.py`), which `make terraform` builds."""
