"""Arguments that several commands share: names that the shell completes."""

from typing import Annotated

import typer

from controller.cli.completion import names

Cloudlet = Annotated[
    str, typer.Argument(metavar="CLOUDLET", help="A cloudlet's name.", autocompletion=names("cloudlets"))
]
Endpoint = Annotated[
    str, typer.Argument(metavar="ENDPOINT", help="An endpoint's name.", autocompletion=names("endpoints"))
]
Vcp = Annotated[str, typer.Argument(metavar="VCP", help="A pool's name.", autocompletion=names("vcps"))]
Device = Annotated[str, typer.Argument(metavar="DEVICE", help="A device's name.", autocompletion=names("devices"))]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and hyphens, 63 at most.")]
OfCloudlet = Annotated[
    str | None, typer.Option("--cloudlet", help="Only of this cloudlet.", autocompletion=names("cloudlets"))
]
OfEndpoint = Annotated[
    str | None, typer.Option("--endpoint", help="Only of this endpoint.", autocompletion=names("endpoints"))
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the effects, and change nothing.")]
ConfirmWithin = Annotated[
    int | None,
    typer.Option(
        "--confirm-within",
        metavar="SECONDS",
        min=1,
        max=86_400,
        help="A trial: rolled back everywhere unless `weft change confirm` comes in time.",
    ),
]
