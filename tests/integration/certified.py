"""Identities of cloudlets below an authority of their own, as agents keep them (docs/operate/identity.md)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from controller.trust import x509

DAY = timedelta(days=1)


def certify(folder: Path, *names: str) -> Path:
    """Make an authority, and below `folder` the identity of each cloudlet. Return the folder."""
    begin = datetime.now(UTC) - timedelta(hours=1)
    root_key, key = x509.new_key(), x509.new_key()
    root = x509.root(root_key, "tests", begin, 2 * DAY)
    middle = x509.intermediate(x509.Signer(root_key, root), key, "tests", begin, 2 * DAY)
    for name in names:
        own = x509.new_key()
        asked = x509.read_request(x509.request(own, name))
        issued = x509.leaf(x509.Signer(key, middle), asked, name, "192.0.2.1", begin, begin + DAY)
        (folder / name).mkdir(parents=True)
        texts = {"key": x509.key_pem(own), "certificate": issued.certificate, "chain": x509.pem(middle, root)}
        for what, text in texts.items():
            (folder / name / f"{what}.pem").write_text(text)
    return folder
