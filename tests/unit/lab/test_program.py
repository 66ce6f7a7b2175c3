import pytest

from lab.errors import LabError
from lab.program import run


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        (3, 3, ""),
        (LabError("no room", "make some"), 1, "weft: no room (make some)\n"),
        (KeyboardInterrupt(), 130, "weft: interrupted\n"),
    ],
)
def test_how_a_program_ends(
    ends: int | BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> int:
        if isinstance(ends, BaseException):
            raise ends
        return ends

    with pytest.raises(SystemExit) as exit:
        run(main)
    assert (exit.value.code, capsys.readouterr().err) == (code, said)
