"""A real browser opens the pages from disk and does what a reader does."""

from __future__ import annotations

import csv
import io
import random
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck import calibrated, demo
from sensecheck.report.result import Result

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

MANY = 20_000


@pytest.fixture(scope="module")
def parser_result() -> Result:
    return calibrated.evaluate(
        demo.path("parser_a.logits.gz"), slices=["question_type", "novelty"], system="parser A", limit=200
    )


@pytest.fixture(scope="module")
def report(parser_result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return parser_result.to_html(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_examples(MANY).to_html(tmp_path_factory.mktemp("large") / "report.html")


def many_examples(n: int) -> Result:
    draw = random.Random(11)
    words = [
        f"{a}{b}"
        for a in ("mus", "sta", "lin", "pri", "orch", "north", "har")
        for b in ("eum", "tion", "ce", "ard", "bank")
    ]
    frame = pl.DataFrame(
        {
            "id": [f"e{i:05d}" for i in range(n)],
            "confidence": [draw.random() for _ in range(n)],
            "correct": [draw.random() < 0.7 for _ in range(n)],
            "kind": [draw.choice("abcdefgh") for _ in range(n)],
            "question": [" ".join(draw.choices(words, k=14)) for _ in range(n)],
            "answer": [" ".join(draw.choices(words, k=30)) for _ in range(n)],
        }
    )
    return calibrated.evaluate(frame, slices=["kind"])


def until(page: Any, truth: str) -> None:
    """Wait for an expression to become true. (Its policy forbids the eval of playwright's own waiting.)"""
    end = time.monotonic() + 20
    while not page.evaluate(truth):
        assert time.monotonic() < end, f"never true: {truth}"
        page.wait_for_timeout(30)


def shown(page: Any) -> int:
    return int(page.inner_text("#x-count").split()[0].replace(",", ""))


def test_opens_from_disk_and_sorts_a_table_of_slices(watched: Any, report: Path, screenshots: Path) -> None:
    page = watched().open(report)
    assert page.inner_text("h1") == "Is the model's confidence the rate at which it is right?"
    page.screenshot(path=screenshots / "calibrated-top.png")
    table = page.locator("#slices table").first
    button = table.locator("thead button").nth(1)
    counts = []
    for _ in range(2):
        button.click()
        cells = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
        counts.append([int(c.replace(",", "")) for c in cells])
    assert counts[0] == sorted(counts[0]) and counts[1] == sorted(counts[0], reverse=True)
    assert table.locator("th[aria-sort=descending]").count() == 1


def test_filters_go_into_the_address_and_a_link_brings_them_back(watched: Any, report: Path) -> None:
    one = watched()
    page = one.open(report)
    every = shown(page)
    page.select_option("#x-filters label:has-text('question_type') select", "lookup")
    fewer = shown(page)
    assert 0 < fewer < every
    page.select_option("#x-filters label:has-text('correct') select", "not correct")
    page.fill("#x-search", "museum")
    until(page, "location.hash.includes('q=museum')")
    found = shown(page)
    assert 0 < found < fewer
    texts = page.locator(".x-row").all_inner_texts()
    assert all("lookup" in t and "not correct" in t for t in texts)
    address = page.evaluate("location.href")
    assert "by.question_type=lookup" in address and "outcome=not+correct" in address
    again = watched().page
    again.goto(address)
    again.wait_for_selector("html[data-ready]")
    assert shown(again) == found
    assert again.input_value("#x-search") == "museum"
    again.click("#x-clear")
    assert shown(again) == every


def test_a_slice_leads_to_its_examples(watched: Any, report: Path) -> None:
    page = watched().open(report)
    link = page.locator("#slices table").first.locator("tbody a").first
    value = link.inner_text()
    link.click()
    until(page, "document.getElementById('x-count').textContent.includes(' of ')")
    assert all(value in t for t in page.locator(".x-row").all_inner_texts())


def test_an_example_opens_by_click_key_and_deep_link(watched: Any, report: Path, screenshots: Path) -> None:
    page = watched().open(report)
    page.locator(".x-row").nth(2).click()
    assert page.is_visible("#example")
    assert page.locator("#e-body .token").count() > 3
    assert page.locator("#e-body .token[class*=wrong]").count() > 0
    first = page.inner_text("#e-title")
    page.screenshot(path=screenshots / "calibrated-example.png")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#e-title") != first
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#e-title") == first
    address = page.evaluate("location.href")
    assert "open=" in address
    page.keyboard.press("Escape")
    assert not page.is_visible("#example")
    until(page, "!location.href.includes('open=')")
    # Focus is back on the table: keys go on from here.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.is_visible("#example") and page.inner_text("#e-title") != first
    linked = watched().page
    linked.goto(address)
    linked.wait_for_selector("#example[open]")
    assert linked.inner_text("#e-title") == first


def test_keys_move_through_the_whole_table(watched: Any, large: Path) -> None:
    page = watched().open(large)
    page.focus("#x-grid")
    page.keyboard.press("End")
    until(page, "document.querySelector('.x-row.active')?.getAttribute('aria-rowindex') === '20001'")
    box, row = page.locator("#x-grid").bounding_box(), page.locator(".x-row.active").bounding_box()
    assert box["y"] <= row["y"] and row["y"] + row["height"] <= box["y"] + box["height"] + 1
    page.keyboard.press("Home")
    page.keyboard.press("PageDown")
    active = int(page.get_attribute(".x-row.active", "aria-rowindex"))
    assert 5 < active < 40
    assert page.get_attribute("#x-grid", "aria-activedescendant") == page.get_attribute(".x-row.active", "id")


def test_columns_sort_both_ways_and_back(watched: Any, large: Path) -> None:
    page = watched().open(large)

    def values() -> list[float]:
        cells = page.locator(".x-row .x-cell.n").all_inner_texts()
        return [float(c) for c in cells]

    head = page.locator("#x-heads button", has_text="confidence")
    head.click()
    up = values()
    assert up == sorted(up) and up[0] < 0.01
    until(page, "location.href.includes('sort=confidence')")
    head.click()
    down = values()
    assert down == sorted(down, reverse=True) and down[0] > 0.99
    head.click()
    until(page, "!location.href.includes('sort=')")


def test_what_is_shown_can_be_downloaded(watched: Any, large: Path) -> None:
    page = watched().open(large, "#examples?by.kind=c&outcome=not+correct")
    count = shown(page)
    with page.expect_download() as waiting:
        page.click("#x-csv")
    assert waiting.value.suggested_filename == "calibrated-examples.csv"
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == count
    assert {r["kind"] for r in rows} == {"c"} and {r["correct"] for r in rows} == {"not correct"}
    assert all(len(r["question"].split()) == 14 for r in rows)


def test_the_signature_is_copied(watched: Any, report: Path, parser_result: Result) -> None:
    one = watched(permissions=["clipboard-read", "clipboard-write"])
    page = one.open(report)
    page.click("button[data-copy=signature]")
    until(page, "document.querySelector('button[data-copy=signature]').textContent === 'Copied'")
    # A page from disk may not read the clipboard: paste it where a reader would.
    page.focus("#x-search")
    page.keyboard.press("Control+V")
    assert page.input_value("#x-search") == parser_result.signature.short


def test_dark_and_narrow_and_print(watched: Any, report: Path, screenshots: Path, tmp_path: Path) -> None:
    dark = watched(color_scheme="dark").open(report, "#examples")
    ground = dark.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 24, 29)"
    dark.locator(".x-row").nth(3).click()
    dark.screenshot(path=screenshots / "calibrated-dark.png")
    narrow = watched().open(report)
    narrow.set_viewport_size({"width": 390, "height": 800})
    narrow.screenshot(path=screenshots / "calibrated-narrow.png")
    wide = narrow.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, "a narrow screen scrolls down, not sideways"
    paper = watched().open(report)
    paper.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000
    paper.emulate_media(media="print")
    assert not paper.is_visible("#x-search") and not paper.is_visible("nav")
    paper.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert paper.locator(".x-row").count() == 40
    assert "first 40 of 200" in paper.inner_text("#x-paper")
    paper.evaluate("dispatchEvent(new Event('afterprint'))")


def _luminance(colour: str) -> float:
    parts = [float(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


CONTRAST = """() => {
  const ground = (node) => { while (node) { const c = getComputedStyle(node).backgroundColor;
    if (c !== 'rgba(0, 0, 0, 0)' && c !== 'transparent') return c; node = node.parentElement; }
    return 'rgb(255, 255, 255)'; };
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    return `rgb(${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).join(',')})`; };
  const found = new Set();
  for (const node of document.querySelectorAll('body *')) {
    if (![...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (node.closest('script,style,svg,noscript') || !node.getClientRects().length || node.disabled) continue;
    const style = getComputedStyle(node);
    found.add(JSON.stringify([rgb(style.color), rgb(ground(node)), node.tagName + '.' + node.className]));
  }
  return [...found].map((x) => JSON.parse(x));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_meets_wcag_aa(watched: Any, report: Path, scheme: str) -> None:
    page = watched(color_scheme=scheme).open(report, "#examples?outcome=not+correct")
    page.locator(".x-row").nth(1).click()
    pairs = page.evaluate(CONTRAST)
    assert len(pairs) > 12
    for ink, ground, where in pairs:
        a, b = sorted((_luminance(ink), _luminance(ground)), reverse=True)
        assert (a + 0.05) / (b + 0.05) >= 4.5, f"{where}: {ink} on {ground} ({scheme})"


def test_twenty_thousand_examples_without_lag(watched: Any, large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = large.stat().st_size
    started = time.perf_counter()
    page = watched().open(large)
    wall = time.perf_counter() - started
    ready = int(page.evaluate("document.documentElement.dataset.ready"))
    steps = page.evaluate(
        """async () => {
          const grid = document.getElementById('x-grid'), times = [];
          for (let k = 0; k < 60; k++) {
            const before = performance.now();
            grid.scrollTop = (k * 7919 * 34) % (grid.scrollHeight - grid.clientHeight);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            times.push(performance.now() - before);
            if (!document.querySelector('.x-row')) throw new Error('no rows drawn');
          }
          return times.sort((a, b) => a - b);
        }"""
    )
    page.fill("#x-search", "museum")
    until(page, "location.hash.includes('q=museum')")
    again = page.evaluate(
        """() => { const s = document.getElementById('x-filters').querySelector('select'); const t = performance.now();
                   s.value = 'not correct'; s.dispatchEvent(new Event('change')); return performance.now() - t; }"""
    )
    assert page.locator(".x-row").count() < 80, "only rows in sight exist"
    with capsys.disabled():
        print(
            f"\n{MANY:,} examples: {size / 1e6:.2f} MB, interactive after {ready} ms (whole visit {wall:.2f} s), "
            f"two frames of scrolling {steps[len(steps) // 2]:.0f} ms (worst {steps[-1]:.0f} ms), "
            f"filter on top of a search {again:.0f} ms"
        )
    assert size < 6_000_000
    assert ready < 10_000, "a loaded machine gets time, a page that hangs does not"
    assert again < 1_000


def test_ten_thousand_examples_are_under_three_megabytes(tmp_path: Path) -> None:
    assert many_examples(10_000).to_html(tmp_path / "page.html").stat().st_size < 3_000_000


def test_unpacks_where_the_browser_cannot(watched: Any, large: Path, report: Path) -> None:
    for path in (report, large):
        one = watched()
        one.page.add_init_script("delete globalThis.DecompressionStream")
        page = one.open(path)
        assert page.evaluate("typeof DecompressionStream") == "undefined"
        plain = watched().open(path)
        assert shown(page) == shown(plain)
        for way in (page, plain):
            way.fill("#x-search", "museum")
            until(way, "location.hash.includes('q=museum')")
        assert page.inner_text("#x-rows") == plain.inner_text("#x-rows")


def test_a_hostile_corpus_does_no_harm(watched: Any, tmp_path: Path, screenshots: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("test_hostile", Path(__file__).with_name("test_hostile.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result: Result = module.hostile_result()
    one = watched()
    page = one.open(result.to_html(tmp_path / "hostile.html"))
    total = shown(page)
    assert total == result.rows.height
    page.screenshot(path=screenshots / "hostile.png")
    page.focus("#x-grid")
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(total):
        seen.add(page.inner_text("#e-place"))
        assert page.evaluate("window.pwned") is None
        assert page.locator("#e-body script, #e-body img, #e-body a, #e-body iframe").count() == 0
        page.keyboard.press("ArrowRight")
    assert len(seen) == total
    page.screenshot(path=screenshots / "hostile-example.png")
    page.keyboard.press("Escape")
    with page.expect_download() as waiting:
        page.click("#x-csv")
    rows = list(csv.reader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8-sig"))))
    assert len(rows) == total + 1
    assert not [c for row in rows for c in row if c.startswith(("=", "@"))], "no cell is a formula"
    assert page.evaluate("window.pwned") is None
    assert page.url.startswith("file:")


def test_eval_and_foreign_code_are_refused(chromium: Any, report: Path) -> None:
    page = chromium.new_page()
    page.goto(report.resolve().as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        """() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';
                   document.body.append(s);
                   const d = document.createElement('div'); d.setAttribute('style', 'color: rgb(1, 2, 3)');
                   d.id = 'probe'; document.body.append(d); }"""
    )
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("getComputedStyle(document.getElementById('probe')).color") != "rgb(1, 2, 3)"
    page.close()


def test_a_comparison_opens_what_changed_side_by_side(watched: Any, tmp_path: Path, screenshots: Path) -> None:
    import sensecheck

    results = [
        calibrated.evaluate(demo.path(f"parser_{s}.logits.gz"), slices=["novelty"], system=s.upper(), limit=120)
        for s in "ab"
    ]
    target = sensecheck.compare(results).to_html(tmp_path / "comparison.html")
    page = watched().open(target)
    page.screenshot(path=screenshots / "comparison-top.png")
    assert page.locator(".x-row .chip").first.inner_text() in ("only A", "only B")
    page.select_option("#x-filters label:has-text('correct') select", "only A")
    assert set(page.locator(".x-row .chip").all_inner_texts()) == {"only A"}
    page.focus("#x-grid")
    page.keyboard.press("Enter")
    assert page.locator("#e-body .side-name").all_inner_texts() == ["A", "B"]
    assert page.locator("#e-body .side").first.locator("[class*=wrong]").count() == 0
    assert page.locator("#e-body .side").last.locator("[class*=wrong]").count() > 0
    page.screenshot(path=screenshots / "comparison-example.png")


def test_the_overview_leads_to_every_page(watched: Any, tmp_path: Path, screenshots: Path) -> None:
    from sensecheck.evaluation import read, run

    (tmp_path / "evaluation.toml").write_text(
        'title = "Larkhaven"\nsystems = ["A", "B"]\n[[evaluate]]\nquestion = "calibrated"\nlimit = 60\n'
        f'data = {{ A = "{demo.path("parser_a.logits.gz")}", B = "{demo.path("parser_b.logits.gz")}" }}\n'
    )
    done = run(read(tmp_path / "evaluation.toml"))
    one = watched()
    page = one.page
    page.goto(done.index.as_uri())
    page.screenshot(path=screenshots / "overview.png")
    page.click("text=Compare the systems")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("h1") == "B against A"
    page.go_back()
    page.locator("main table a", has_text="B").last.click()
    page.wait_for_selector("html[data-ready]")
    assert "name: B" in page.inner_text(".system")
