"""The Helm chart (`deploy/helm/weft`), rendered by helm."""
