"""What stands around the charts of launches and bytes, as trees of nodes for `Note`."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.launches_results import (
    LaunchCase,
    LaunchLine,
    LaunchRun,
    ProviderRun,
    count_words,
    gb_per_s,
    of_role,
    passes,
    times_eager,
)
from viz.figures.launches import compared, short_name, shortened
from viz.figures.memory_words import run_words, table_of, versions
from viz.figures.prose import rich, say
from viz.figures.sizes import duration, size, times
from viz.locales import text

SAME = 0.04  # times this close together are called the same
MAX_NAME = 40  # characters of a kernel's name in a table, which must fit half a page
FORMULA = {
    "forward": "z = softmax(x) + x · y",
    "backward": "dx, dy ← dz",
}


def case_words(case: LaunchCase, language: str, direction: str = "") -> str:
    """Return "4096 × 1024, bfloat16, forward"."""
    words = [f"{case.n_rows} × {case.n_cols}", case.dtype]
    if direction:
        words.append(text(language, f"launches.{direction}"))
    return text(language, "run.state.comma").join(words)


def timeline_headline(
    lines: tuple[LaunchLine, ...],
    case: LaunchCase,
    direction: str,
    run: LaunchRun | None,
    language: str,
) -> list:
    """Return the eyebrow, and what one kernel does to launches and time, if that was measured."""
    eager, fused = of_role(lines, "rival"), of_role(lines, "fused")
    ratio = times_eager(fused, lines)
    about = [case_words(case, language, direction)]
    if run is None:
        where, kind = text(language, "launches.from.nothing"), "bw-formula"
    else:
        where, kind = run_words(run, language), "bw-run"
        about += [versions(run)] if versions(run) else []
    eyebrow = ["p", {"class": f"bw-eyebrow {kind}"}, ["b", {}, where], " · ", " · ".join(about)]
    if ratio is None:
        said = say(language, "launches.caption.formula", eager=len(eager.kernels))
    else:
        ours, theirs = fused.measured, eager.measured
        said = say(
            language,
            f"launches.caption.{_compared(ratio)}",
            ours=count_words(ours.launches),
            theirs=count_words(theirs.launches),
            time=micros(ours.device_us[1]),
            eager=micros(theirs.device_us[1]),
            ratio=f"{max(ratio, 1 / ratio):.2f}",
        )
    return [eyebrow, ["p", {"class": "bw-caption"}, *said]]


def _compared(ratio: float) -> str:
    """Return whether the one kernel took less time than the chain, as much, or more."""
    if abs(ratio - 1) <= SAME:
        return "same"
    return "less" if ratio > 1 else "more"


def micros(value: float) -> str:
    """Return a time with three digits: "8.13 µs", "24.0 µs", "1250 µs"."""
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} µs"


def timeline_key(language: str) -> list:
    """Return what the timeline draws."""
    head = ["b", {}, text(language, "launches.key.time")]
    how = ["span", {}, text(language, "launches.key.time.how")]
    return [["p", {"class": "bw-chart-key"}, head, how]]


def timeline_table(lines: tuple[LaunchLine, ...], direction: str, language: str) -> list:
    """Return every number of each provider, why some have none, and every launch."""
    title = text(language, "launches.table", direction=text(language, f"launches.{direction}"))
    runs = [line.measured for line in lines if line.measured]
    how = [text(language, "launches.how.bytes")]
    if runs:
        details = max(run.n_calls for run in runs), max(run.worst for run in runs)
        how.append(text(language, "launches.how.time", calls=details[0], worst=f"{details[1]:.2f}"))
    return [
        _by_provider(title, lines, language),
        *_missing(lines, language),
        *(["p", {"class": "bw-how"}, *rich(sentence)] for sentence in how),
        *_spans(lines, language),
    ]


def _by_provider(title: str, lines: tuple[LaunchLine, ...], language: str) -> list:
    """Return a table with a column a provider; rows of times only where there are some."""
    keys = ["launches", "moves"]
    if any(line.measured for line in lines):
        keys += ["device", "spread", "wall", "spread", "speed", "faster", "sooner", "first"]
    columns = [_cells(line, lines) for line in lines]
    kinds = [{"class": "bw-studied"} if line.role == "fused" else {} for line in lines]
    heads = [["th", {"scope": "col", **kind}, line.exact] for line, kind in zip(lines, kinds)]
    body = [
        ["tr", {},
            ["th", {"scope": "row"}, text(language, f"launches.head.{key}")],
            *(["td", kind, column[k]] for column, kind in zip(columns, kinds))]
        for k, key in enumerate(keys)
    ]  # fmt: skip
    parts = [["thead", {}, ["tr", {}, ["th", {}], *heads]], ["tbody", {}, *body]]
    table = ["table", {"class": "bw-table bw-lengths"}, ["caption", {}, title], *parts]
    return ["div", {"class": "bw-scroll bw-providers"}, table]


def _cells(line: LaunchLine, lines: tuple[LaunchLine, ...]) -> list[str]:
    """Return a provider's cells: what the formula says has a ≥ where it is the least."""
    ran = line.measured
    moves = f"{'≥ ' if line.least else ''}{size(line.n_bytes)}"
    if ran is None:
        formula = "–" if line.least or line.role == "ceiling" else str(len(line.kernels))
        return [formula, moves, *["–"] * 8]
    ratios = [times_eager(line, lines, field) for field in ("device_us", "wall_us")]
    return [
        count_words(ran.launches),
        moves,
        micros(ran.device_us[1]),
        _spread(ran.device_us),
        micros(ran.wall_us[1]),
        _spread(ran.wall_us),
        f"{gb_per_s(line, lines):.0f} GB/s",
        *("–" if ratio is None else f"{ratio:.2f}×" for ratio in ratios),
        duration(ran.first_s),
    ]


def _spread(values: tuple[float, ...]) -> str:
    """Return p20 and p80, "23.5–25.5"."""
    return "–".join(micros(value).removesuffix(" µs") for value in (values[0], values[2]))


def _missing(lines: Iterable[LaunchLine], language: str) -> list:
    """Return why a provider has no numbers."""
    runs: list[tuple[LaunchLine, ProviderRun]] = [
        (line, line.run) for line in lines if line.run is not None and line.run.reason
    ]
    return [
        [
            "p",
            {"class": "bw-how bw-refused"},
            "✕ ",
            *say(language, f"launches.why.{run.reason}", name=line.exact, message=run.message),
        ]
        for line, run in runs
    ]


def _spans(lines: tuple[LaunchLine, ...], language: str) -> list:
    """Return every launch that is drawn: numbers first, as names are long; whole for a pointer."""
    rows = [
        ["tr", {"class": "bw-studied"} if line.role == "fused" else {},
            ["th", {"scope": "row"}, f"{line.exact} {k}"],
            ["td", {}, f"{span.start_us:.2f} µs"],
            ["td", {}, f"{span.duration_us:.2f} µs"],
            ["td", {"title": span.name}, shortened(short_name(span.name), MAX_NAME)]]
        for line in lines if line.measured
        for k, span in enumerate(line.measured.spans, start=1)
    ]  # fmt: skip
    if not rows:
        return []
    heads = [text(language, f"launches.span.{key}") for key in ("start", "duration", "name")]
    top = [["th", {"scope": "col"}, head] for head in ("", *heads)]
    parts = [["thead", {}, ["tr", {}, *top]], ["tbody", {}, *rows]]
    caption = ["caption", {}, text(language, "launches.spans")]
    table = ["table", {"class": "bw-table bw-lengths bw-launched"}, caption, *parts]
    return [["div", {"class": "bw-scroll"}, table]]


def bytes_headline(lines: tuple[LaunchLine, ...], direction: str, language: str) -> list:
    """Return what the formula says: passes over memory, and bytes."""
    eager, fused = of_role(lines, "rival"), of_role(lines, "fused")
    counted = ["b", {}, text(language, "memory.from.formula")]
    eyebrow = ["p", {"class": "bw-eyebrow bw-formula"}, counted, f" · {FORMULA[direction]}"]
    said = say(
        language,
        "launches.caption.bytes",
        ours=size(fused.n_bytes),
        theirs=size(eager.n_bytes),
        ratio=times(eager.n_bytes / fused.n_bytes),
    )
    return [eyebrow, ["p", {"class": "bw-caption"}, *said]]


def bytes_key(language: str) -> list:
    """Return what the chart of bytes draws."""
    head = ["b", {}, text(language, "launches.key.bytes")]
    how = ["span", {}, text(language, "launches.key.bytes.how")]
    return [["p", {"class": "bw-chart-key"}, head, how]]


def bytes_table(lines: tuple[LaunchLine, ...], direction: str, language: str) -> list:
    """Return how often each tensor is read or written, and what the tensors are."""
    told = compared(lines)
    by_line = [passes(line.kernels) for line in told]
    tensors = list(dict.fromkeys(name for counts in by_line for name in counts))
    per_pass = of_role(lines, "fused").n_bytes // sum(by_line[-1].values())
    rows = []
    for line, counts in zip(told, by_line):
        cells = [_times(counts.get(name, 0)) for name in (*tensors, None) if name]
        total = f"{'≥ ' if line.least else ''}{sum(counts.values())}×"
        rows.append((line.exact, [*cells, total], line.role == "fused"))
    heads = [*tensors, text(language, "launches.head.all")]
    title = text(language, "launches.passes", size=size(per_pass))
    how = say(language, f"launches.how.{direction}")
    return [table_of(title, heads, rows), ["p", {"class": "bw-how"}, *how]]


def _times(count: int) -> str:
    return f"{count}×" if count else "–"


def claim(lines: tuple[LaunchLine, ...], run: LaunchRun | None, language: str) -> list:
    """Return the claim about such a chain, and what was counted and, where, measured of it."""
    eager, fused = of_role(lines, "rival"), of_role(lines, "fused")
    n_passes = [sum(passes(line.kernels).values()) for line in (eager, fused)]
    said = say(
        language,
        "launches.claim",
        before=n_passes[0],
        after=n_passes[1],
        ratio=f"{n_passes[0] / n_passes[1]:.2f}",
    )
    measured = times_eager(fused, lines)
    if run is None or measured is None:
        said += [" ", *say(language, "launches.claim.unmeasured")]
    else:
        sooner = times_eager(fused, lines, "wall_us")
        details = {"device": f"{measured:.2f}", "wall": f"{sooner:.2f}"}
        where = run_words(run, language)
        said += [" ", *say(language, "launches.claim.measured", where=where, **details)]
    head = ["h3", {"class": "bw-head"}, text(language, "launches.claim.head")]
    return [head, ["div", {"class": "bw-claims"}, ["p", {}, *said]]]
