"""The check of a built site finds what is missing, dead, within a page, or loaded from elsewhere."""

import json
from pathlib import Path

import pytest

from deploy.manual.check import problems
from deploy.manual.finish import finish
from deploy.manual.pages import Sources

GOOD = (
    '<a id="top"></a><script src="x.js"></script><a href="operate/a.html#one">a</a><a href="https://example.org">e</a>'
)
SOURCES = Sources({"index.md": "", "operate/a.md": ""}, {"b.svg": b""}, ())


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "operate").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "operate/a.html").write_text(
        '<h2 id="one">One</h2><img src="../b.svg"><a href="../index.html#top">b</a>'
    )
    (tmp_path / "b.svg").write_text("<svg/>")
    (tmp_path / "x.js").write_text("")
    items = [{"location": "index.html"}, {"location": "operate/a.html#one"}]
    (tmp_path / "search.json").write_text(json.dumps({"items": items}))
    return tmp_path


def test_a_good_site_has_no_problem(site: Path) -> None:
    assert problems(site, SOURCES) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        (
            '<script src="https://cdn.example/x.js"></script>',
            "index.html loads https://cdn.example/x.js from elsewhere",
        ),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "index.html loads //cdn.example/x.css from elsewhere"),
        ("<script>go()</script>", "index.html has <script> within it"),
        ("<style>h1 {}</style>", "index.html has <style> within it"),
        ('<p style="color: red">', 'index.html has style="color: red" within it'),
        ('<p onclick="go()">', 'index.html has onclick="go()" within it'),
        ('<a href="gone.html">', "index.html links to gone.html, which is not there"),
        ('<img src="gone.svg">', "index.html links to gone.svg, which is not there"),
        ('<a href="operate/a.html#two">', "index.html links to operate/a.html#two: operate/a.html has no such heading"),
        ('<a href="#two">', "index.html links to #two: index.html has no such heading"),
    ],
)
def test_a_problem_is_named(site: Path, added: str, problem: str) -> None:
    (site / "index.html").write_text(GOOD + added)
    assert problems(site, SOURCES) == [problem]


def test_data_is_no_script(site: Path) -> None:
    (site / "index.html").write_text(GOOD + '<script id="__config" type="application/json">{}</script>')
    assert problems(site, SOURCES) == []


def test_missing_parts_are_named(site: Path) -> None:
    (site / "b.svg").unlink()
    (site / "operate/a.html").unlink()
    (site / "search.json").unlink()
    found = problems(site, SOURCES)
    assert "the site has no operate/a.html" in found and "the site has no b.svg" in found
    assert "the search does not know index.html" in found


def test_a_style_sheet_that_loads_from_elsewhere_is_named(site: Path) -> None:
    (site / "x.css").write_text('@import "https://fonts.example/x.css";')
    assert problems(site, SOURCES) == ["x.css loads something from elsewhere"]
    (site / "x.css").write_text("h1 { background: url(data:image/svg+xml;base64,PHN2Zz4=) } /*! https://example.org */")
    assert problems(site, SOURCES) == []


def test_scripts_become_files_and_styles_classes(site: Path) -> None:
    (site / "assets/javascripts").mkdir(parents=True)
    page = '<script>go("..")</script><td style="text-align: right;">1</td>'
    shim = '<script src="https://unpkg.com/iframe-worker/shim" type="text/javascript"></script>'
    (site / "index.html").write_text(GOOD + page + shim)
    (site / "operate/a.html").write_text(f'<h2 id="one">One</h2>{page}{shim}')
    (site / "sitemap.xml").write_text("")
    finish(site)
    assert problems(site, SOURCES) == [] and not (site / "sitemap.xml").exists()
    [script] = (site / "assets/javascripts").glob("page.*.js")
    assert script.read_text() == 'go("..")'
    text = (site / "operate/a.html").read_text()
    assert f'<script src="../assets/javascripts/{script.name}"></script>' in text
    assert '<script src="../assets/javascripts/iframe-worker.js"></script>' in text and 'class="align-right"' in text
