"""`weft image`: the images of VMs and containers at cloudlets."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from controller.cli.cells import Items, Row, at, prose, state
from controller.cli.client import Client, path
from controller.cli.failures import CheckFailed, WrongUsage, untold
from controller.cli.noun import Noun
from controller.cli.output import rows, say, when
from controller.cli.sizes import size

app = Noun("image", "Images of VMs and containers: the cloudlets that have them, and those to which they are to come.")

PROGRAM = "weft-images"
INDEX = "index.json"

Name = Annotated[str, typer.Argument(help="The image.")]


def _same(row: Row) -> str:
    versions = row.get("versions", 1)
    return "same everywhere" if versions == 1 else f"{versions} versions"


COLUMNS = [
    ("IMAGE", at("name")),
    ("DRIVERS", at("drivers")),
    ("CLOUDLETS", at("cloudlets")),
    ("MISSING", at("missing")),
    ("FILES", _same),
]


def _came(row: Row) -> str | None:
    """Return how much of an image has come."""
    total = row.get("total")
    return f"{size(row.get('done', 0))} of {size(total)}" if total else None


STORES = [
    ("CLOUDLET", at("cloudlet")),
    ("IMAGE", lambda row: str(row.get("digest", ""))[:12]),
    ("CONDITION", state("condition")),
    ("BYTES", _came),
    ("REASON", prose("detail")),
    ("SINCE", when("at")),
]


def _files(row: Row) -> Items:
    files = row.get("files", {})
    return Items(", ".join(f"{name} {digest[:12]}" for name, digest in sorted(files.items())) or "-")


PLACES = [
    ("CLOUDLET", at("cloudlet")),
    ("DRIVER", at("driver")),
    ("FILES", _files),
    ("REPORTED", when("at")),
]


@app.verb("list", "weft image list\nweft image list --output json")
def list_() -> None:
    """List the images that agents report."""
    with Client() as api:
        rows(api.items(path("images")), COLUMNS, "no images")


@app.verb("status", "weft image status debian")
def status(name: Name) -> None:
    """List the cloudlets that store an image, and those that it is coming to, or cannot come to."""
    with Client() as api:
        none = f"no cloudlet stores it with its digest; see `weft image files {name}`"
        rows(api.items(path("images", name, "stores")), STORES, none)


@app.verb("files", "weft image files debian")
def files(name: Name) -> None:
    """List the cloudlets whose machines can use an image, with the digests of its files there."""
    with Client() as api:
        rows(api.items(path("images", name, "places")), PLACES, "no cloudlet has it")


@app.verb("push", "weft image push camera/ registry.example.net/camera")
def push(
    folder: Annotated[
        Path, typer.Argument(help="An OCI image layout, or a folder with the kernel, initramfs or disk.qcow2 of VMs.")
    ],
    registry: Annotated[str, typer.Argument(help="The registry and the repository in it, without a tag.")],
    plain_http: Annotated[bool, typer.Option("--plain-http", help="The registry has no TLS.")] = False,
    credentials: Annotated[
        Path | None, typer.Option("--credentials", help="File with credentials, in the form of Docker's config.json.")
    ] = None,
) -> None:
    """Copy an image from this machine to a registry, and print its digest for the policy."""
    if not folder.is_dir():
        raise WrongUsage(f"{folder} is not a folder")
    options = ["--plain-http"] if plain_http else []
    options += ["--credentials", str(credentials)] if credentials is not None else []
    with _layout(folder) as layout:
        say(_run("push", "--directory", str(layout), "--registry", registry, *options))


@contextmanager
def _layout(folder: Path) -> Iterator[Path]:
    """Yield the folder if it is an OCI image layout, else one made of the files in it, for as long as it is used."""
    if (folder / INDEX).is_file():
        yield folder
        return
    found = sorted(str(file) for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    if not found:
        raise WrongUsage(f"{folder} has no files")
    try:
        made = TemporaryDirectory(prefix=".weft-image-", dir=folder.absolute().parent)
    except OSError as error:
        raise CheckFailed(untold(error)) from error
    with made as place:
        layout = Path(place) / "layout"
        _run("pack", "--directory", str(layout), *found)
        yield layout


def _run(*words: str) -> str:
    """Run weft-images, and return what it prints. Its reason ends the command."""
    try:
        ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise CheckFailed(f"{PROGRAM} cannot be started: {error.strerror}; it is a part of Weft") from error
    if ended.returncode:
        raise CheckFailed(*ended.stderr.strip().splitlines()[-1:] or [f"{PROGRAM} has ended with {ended.returncode}"])
    return ended.stdout.strip()
