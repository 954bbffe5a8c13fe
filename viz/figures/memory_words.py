"""What stands around the charts of memory and traffic, as trees of nodes for `Note`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.launches_results import LaunchRun
from benchmarks.memory_results import MemoryCase, MemoryLine, MemoryRun, Traffic
from viz.figures.prose import rich, say
from viz.figures.sizes import size, slope, times
from viz.locales import text

CLAIMED_LENGTH = 4096  # of the table of memory and time that is often quoted


def case_words(case: MemoryCase, language: str) -> str:
    """Return "batch 1, 16 heads, head_dim 128, bfloat16, no mask"."""
    return text(
        language,
        "memory.case",
        batch=case.batch,
        heads=case.heads,
        head_dim=case.head_dim,
        dtype=case.dtype,
        mask=text(language, f"memory.mask.{case.mask}"),
    )


def run_words(run: MemoryRun | LaunchRun, language: str) -> str:
    """Return where a run's numbers come from: a recording's GPU and date, or this GPU."""
    key = "memory.from.recorded" if run.date else "memory.from.here"
    return text(language, key, name=run.device.name, date=run.date)


def provider_name(provider: str, exact: str, language: str) -> str:
    """Return torch's own name for a provider, or what ours is called in a sentence."""
    return exact or text(language, f"memory.ours.{provider}")


def of_role(lines: Iterable[MemoryLine], role: str) -> MemoryLine:
    """Return the one line of ours that has ``role``."""
    return next(line for line in lines if line.role == role)


def told(line: MemoryLine, k: int, measured: bool) -> int | None:
    """Return a line's bytes at the k-th length, measured or by formula; None if there are none."""
    if not measured:
        return line.predicted[k]
    point = line.measured[k]
    return point.peak_bytes if point else None


def memory_headline(lines: tuple, case: MemoryCase, run: MemoryRun | None, language: str) -> list:
    """Return the eyebrow, and what the longest length says, measured if it was."""
    where = text(language, "memory.from.formula") if run is None else run_words(run, language)
    kind = "bw-formula" if run is None else "bw-run"
    eyebrow = ["p", {"class": f"bw-eyebrow {kind}"}, ["b", {}, where], " · "]
    ran_with = versions(run) if run else ""
    about = [case_words(case, language), *([ran_with] if ran_with else [])]
    fused, stages = of_role(lines, "fused"), of_role(lines, "stages")
    key, k, measured = _case_of_caption(fused, stages, case)
    wide = told(stages, k, measured and key != "outgrown")
    narrow = told(fused, k, measured)
    said = say(
        language,
        f"memory.caption.{key}",
        length=case.lengths[k],
        stages=size(wide),
        fused=size(narrow),
        ratio=times(wide / narrow),
    )
    return [[*eyebrow, " · ".join(about)], ["p", {"class": "bw-caption"}, *said]]


def _case_of_caption(fused: MemoryLine, stages: MemoryLine, case: MemoryCase) -> tuple:
    """Return which sentence the points call for, the length it is about, and if it is measured."""
    for k in reversed(range(len(case.lengths))):
        narrow, wide = fused.measured[k], stages.measured[k]
        if narrow is None or narrow.peak_bytes is None or wide is None:
            continue
        if wide.peak_bytes is not None:
            return "measured", k, True
        if wide.reason in ("too_large", "out_of_memory"):
            return "outgrown", k, True
    return "predicted", len(case.lengths) - 1, False


def versions(run: MemoryRun | LaunchRun) -> str:
    """Return "torch 2.13.0 · triton 3.7.1 · driver 570.86"."""
    known = (name for name in ("torch", "triton", "driver") if name in run.device.versions)
    return " · ".join(f"{name} {run.device.versions[name]}" for name in known)


def memory_key(run: MemoryRun | None, language: str) -> list:
    """Return what is drawn, and how a prediction and a measurement look."""
    marks = {"bw-dashes": "memory.predicted"}
    if run is not None:
        marks["bw-dot"] = "memory.measured"
    key = [
        ["span", {}, ["span", {"class": mark, "aria-hidden": "true"}], text(language, name)]
        for mark, name in marks.items()
    ]
    head = ["b", {}, text(language, "memory.axis.peak")]
    return [["p", {"class": "bw-chart-key"}, head, *key]]


def memory_table(lines: tuple, case: MemoryCase, language: str) -> list:
    """Return every number of the chart, and how often the one is the other."""
    rows = []
    for line in lines:
        bold = line.role == "fused"
        for measured in (False, True):
            if measured and not any(line.measured) or not measured and not line.predicted:
                continue
            name = line.exact
            if line.predicted:
                short = text(language, f"memory.line.{line.provider}")
                key = "memory.row.measured" if measured else "memory.row.predicted"
                name = text(language, key, name=short)
            cells = [_cell(line, k, measured) for k in range(len(case.lengths))]
            rows.append((name, cells, bold))
    rows.append((text(language, "memory.ratio"), _ratios(lines, case), False))
    return [_table(text(language, "memory.table"), case, rows), *_missing(lines, language)]


def _cell(line: MemoryLine, k: int, measured: bool) -> str:
    n_bytes = told(line, k, measured)
    return "–" if n_bytes is None else size(n_bytes)


def _ratios(lines: tuple, case: MemoryCase) -> list[str]:
    """Return three stages over fused at each length: of measurements where both exist."""
    fused, stages = of_role(lines, "fused"), of_role(lines, "stages")
    ratios = []
    for k in range(len(case.lengths)):
        pair = told(stages, k, True), told(fused, k, True)
        if None in pair:
            pair = told(stages, k, False), told(fused, k, False)
        ratios.append(f"{times(pair[0] / pair[1])}×")
    return ratios


def _missing(lines: tuple, language: str) -> list:
    """Return why points are missing, a sentence for each provider and reason."""
    why: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        name = provider_name(line.provider, line.exact, language)
        for point in line.measured:
            if point is not None and point.reason:
                why.setdefault((name, point.reason), []).append(str(point.length))
    said = []
    for (name, reason), lengths in why.items():
        words = text(language, f"memory.why.{reason}", name=name, lengths=", ".join(lengths))
        said.append(["p", {"class": "bw-how"}, *rich(words)])
    return said


def memory_facts(lines: tuple, language: str) -> list:
    """Return which tensors exist at the peak, and how both grow."""
    fused, stages = of_role(lines, "fused"), of_role(lines, "stages")
    said = say(
        language,
        "memory.alive",
        stages=" ".join(stages.alive),
        fused=" ".join(fused.alive),
    )
    return [["p", {"class": "bw-how"}, *said]]


def traffic_headline(traffic: Traffic, language: str) -> list:
    """Return the eyebrow, and whether K and V cost less than S and P, as much, or more."""
    case, line = traffic.case, traffic.line(traffic.studied)
    kv, sp = line.kv_bytes[-1], traffic.sp_bytes[-1]
    key = "less" if kv < 0.96 * sp else "more" if kv > 1.04 * sp else "same"
    said = say(
        language,
        f"memory.traffic.caption.{key}",
        slope=f"{slope(line.kv_bytes, case.lengths):.2f}",
        block=traffic.studied,
        ratio=times(max(kv, sp) / min(kv, sp)),
    )
    where = text(language, "memory.from.counted")
    about = text(language, "memory.traffic.tiles", block=traffic.block_n)
    eyebrow = ["p", {"class": "bw-eyebrow bw-formula"}, ["b", {}, where], " · "]
    eyebrow.append(f"{case_words(case, language)} · {about}")
    return [eyebrow, ["p", {"class": "bw-caption"}, *said]]


def traffic_key(language: str) -> list:
    """Return what the second chart draws."""
    head = ["b", {}, text(language, "memory.axis.read")]
    return [["p", {"class": "bw-chart-key"}, head, ["span", {}, text(language, "memory.axis.how")]]]


def traffic_table(traffic: Traffic, language: str) -> list:
    """Return every number of the chart, then how often each block of K is read."""
    rows = [
        (f"BLOCK_M {line.block_m}", [size(n) for n in line.kv_bytes], studied)
        for line in traffic.lines
        for studied in (line.block_m == traffic.studied,)
    ]
    once = text(language, "memory.line.once"), [size(n) for n in traffic.once_bytes], False
    stages = text(language, "memory.sp"), [size(n) for n in traffic.sp_bytes], False
    table = _table(text(language, "memory.traffic.table"), traffic.case, [*rows, stages, once])
    return [table, *reads(traffic, language)]


def reads(traffic: Traffic, language: str) -> list:
    """Return how often a block of K is read at the longest length, for every BLOCK_M."""
    last = traffic.case.lengths[-1]
    heads = [f"BLOCK_M {line.block_m}" for line in traffic.lines]
    rows = []
    if all(most == fewest for line in traffic.lines for most, fewest in line.reads):
        rows.append(("memory.reads.every", [line.reads[-1][0] for line in traffic.lines]))
    else:
        rows.append(("memory.reads.first", [line.reads[-1][0] for line in traffic.lines]))
        rows.append(("memory.reads.last", [line.reads[-1][1] for line in traffic.lines]))
    body = [(text(language, key), [f"{n}×" for n in counts], False) for key, counts in rows]
    title = text(language, "memory.reads", length=last)
    studied = traffic.line(traffic.studied)
    total = say(
        language,
        f"memory.traffic.total.{traffic.case.mask}",
        ratio=times(studied.stages_bytes[-1] / studied.all_bytes[-1]),
        fused=size(studied.all_bytes[-1]),
        stages=size(studied.stages_bytes[-1]),
        block=traffic.studied,
        block_n=traffic.block_n,
        length=last,
    )
    return [table_of(title, heads, body), ["p", {"class": "bw-how"}, *total]]


def claims(lines: tuple, traffic: Traffic, language: str) -> list:
    """Return what is often claimed of memory and traffic, and what the numbers here say."""
    case = traffic.case
    fused, stages = of_role(lines, "fused"), of_role(lines, "stages")
    k = case.lengths.index(CLAIMED_LENGTH)
    measured = None not in (told(stages, k, True), told(fused, k, True))
    line = traffic.line(traffic.studied)
    details = {
        "memory": {
            "before": case.lengths[-2],
            "after": case.lengths[-1],
            "stages": f"{stages.predicted[-1] / stages.predicted[-2]:.2f}",
            "fused": f"{fused.predicted[-1] / fused.predicted[-2]:.2f}",
        },
        "traffic": {
            "length": case.lengths[-1],
            "once": size(traffic.once_bytes[-1]),
            "kv": size(line.kv_bytes[-1]),
            "block": traffic.studied,
        },
        "table": {
            "length": CLAIMED_LENGTH,
            "stages": size(told(stages, k, measured)),
            "fused": size(told(fused, k, measured)),
            "how": text(language, "memory.measured" if measured else "memory.predicted"),
        },
    }
    head = ["h3", {"class": "bw-head"}, text(language, "memory.claims")]
    said = [["p", {}, *say(language, f"memory.claim.{name}", **of)] for name, of in details.items()]
    return [head, ["div", {"class": "bw-claims"}, *said]]


def recordings(
    runs: Iterable[MemoryRun | LaunchRun],
    shown: MemoryRun | LaunchRun | None,
    refused: Iterable[str],
    language: str,
    named: Callable = case_words,
    nothing: str = "memory.recorded.none",
) -> list:
    """Return which recorded runs there are besides the one shown, and which files were refused.

    ``named`` says a run's case in a language, ``nothing`` is the key of what to say of no runs.
    """
    others = [run for run in runs if run != shown]
    said = [["p", {"class": "bw-how bw-refused"}, f"✕ {sentence}"] for sentence in refused]
    if others:
        words = [
            ["li", {}, f"{run_words(run, language)}: {named(run.case, language)}"] for run in others
        ]
        said += [["p", {"class": "bw-how"}, text(language, "memory.recorded.others")]]
        said += [["ul", {"class": "bw-how"}, *words]]
    elif shown is None:
        said.append(["p", {"class": "bw-how"}, text(language, nothing)])
    return said


def _table(title: str, case: MemoryCase, rows: list) -> list:
    """Return a table over the lengths."""
    return table_of(title, [str(length) for length in case.lengths], rows, "T")


def table_of(title: str, heads: list[str], rows: list, corner: str = "") -> list:
    """Return a table that scrolls by itself where it is too wide; studied rows are bold."""
    top = [["th", {"scope": "col"}, name] for name in (corner, *heads)]
    body = [
        [
            "tr", {"class": "bw-studied"} if studied else {},
            ["th", {"scope": "row"}, name],
            *(["td", {}, cell] for cell in cells),
        ]
        for name, cells, studied in rows
    ]  # fmt: skip
    parts = [["thead", {}, ["tr", {}, *top]], ["tbody", {}, *body]]
    caption = ["caption", {}, title]
    table = ["table", {"class": "bw-table bw-lengths"}, caption, *parts]
    return ["div", {"class": "bw-scroll"}, table]
