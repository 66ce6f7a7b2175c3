"""The provider for Terraform (`deploy/terraform`), run by OpenTofu against a controller."""
