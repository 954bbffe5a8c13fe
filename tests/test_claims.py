"""Claims: each judge's verdicts by hand, on runs that were never measured, and the command."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from benchmarks import __main__ as main
from benchmarks import launches_command, measuring, memory_command, recorded, sweep_command
from benchmarks.claims import CLAIMS, found, runs_of
from benchmarks.claims_points import NotEnough, digits
from benchmarks.claims_results import VERDICTS
from benchmarks.launches_results import LaunchCase
from benchmarks.memory_results import MemoryCase
from tests.claim_runs import (
    answering,
    any_run,
    landscape_run,
    launch_run,
    memory_run,
    shell_of,
    sweep_run,
)
from tests.fake_check import CPU, GPU
from viz.locales import LANGUAGES, has, text

L4 = replace(GPU, name="NVIDIA L4", capability=(8, 9))


@pytest.fixture
def shell(monkeypatch, tmp_path, capsys):
    """Return a function that runs a command: (exit code, stdout, stderr, worker)."""
    return shell_of(monkeypatch, tmp_path, capsys)


def judged(key, *runs):
    """Return a claim's finding, whose sentence every language can say."""
    finding = found(CLAIMS[key], runs)
    for language in LANGUAGES:
        text(language, f"claim.{key}.{finding.verdict}", **finding.figures)
    assert finding.rows and all(len(row) == len(finding.heads) for row in finding.rows)
    assert all(has(head) for head in finding.heads if head.startswith("claim."))
    return finding


def sweeps(key, us, **changes):
    return [sweep_run(case, us, **changes) for case in CLAIMS[key].cases]


# The table.


def test_every_claim_has_words_and_cases_of_their_own_names():
    for key, claim in CLAIMS.items():
        assert claim.key == key and claim.cases and set(claim.source.split(", ")) <= set("ABC")
        can_be_more = key in ("C7", "C8", "C11")  # those that claim a range
        words = [one for one in VERDICTS if one != "more" or can_be_more]
        assert all(has(f"claim.{key}.{one}") for one in ("says", *words))
    cases = {case for claim in CLAIMS.values() for case in claim.cases}
    assert len({measuring.name_of(case) for case in cases}) == len(cases)


def test_a_claims_commands_ask_for_its_cases():
    for case in {case for claim in CLAIMS.values() for case in claim.cases}:
        options = main._parser().parse_args(shlex.split(measuring.command_of(case))[3:])
        assert options.record
        if isinstance(case, LaunchCase):
            asked = launches_command.launches.choose_launches(
                options.rows, options.cols, options.dtype
            )
        elif isinstance(case, MemoryCase):
            asked = memory_command.memory.choose_memory(
                options.heads, options.head_dim, options.dtype, options.mask
            )
        else:
            asked = sweep_command.case_of(options)
        assert asked == case


def test_a_number_has_three_digits():
    told = [digits(n) for n in (0.0123, 2.996, 3.0, 99.96, 100.4, 1234.5)]
    assert told == ["0.0123", "3.00", "3.00", "100", "100", "1234"]


# Judges, one verdict after another.


@pytest.mark.parametrize(
    ("slow_forward", "slow_backward", "said"),
    [(80, 80, "true"), (80, 10, "partly"), (10, 10, "false")],
)
def test_c1_counts_launches_and_bytes_and_times(slow_forward, slow_backward, said):
    eager = {"forward": slow_forward, "backward": slow_backward}

    def us(provider, direction):
        if provider == "compile":
            return "failed"
        return float(eager[direction]) if provider == "eager" else 20.0

    finding = judged("C1", launch_run(*CLAIMS["C1"].cases, us))
    assert finding.verdict == said
    # 8 passes over a tensor against 3, forward; 15 against 5, backward.
    figures = {"launches": "3", "moved": "2.67", "back_moved": "3.00", "back_launches": "5"}
    assert figures.items() <= finding.figures.items()
    assert finding.figures["saved"] == digits(slow_forward / 20)
    assert finding.rows[1] == ("torch.compile", "–", "≥ 101", "–", "–", "≥ 168", "–")


def gains(*times):
    """Return µs of attention: ours 100, torch's separate steps so many times that, by length."""
    at = dict(zip((512, 1024, 2048, 4096, 8192, 16384), times, strict=True))

    def us(provider, value):
        took = {"sdpa_math": at[value], "three": at[value], "sdpa_flash": "refused"}
        one = took.get(provider, 1)
        return one if isinstance(one, str) else 100.0 * one

    return us


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((2, 3, 4, 5, 6, 7), "true"),
        ((5, 5, 5, 6, 6, 7), "more"),
        ((3, 3, 3, 3, 3, 3), "partly"),
        ((1.5, 2, 4, 5, 6, 7), "partly"),
        ((1.9, 3, 3, 3, 3, 1.9), "false"),
    ],
)
def test_c7_is_at_least_twice_and_grows(times, said):
    finding = judged("C7", *sweeps("C7", gains(*times)))
    assert finding.verdict == said
    assert finding.figures["low"] == digits(min(times)) and finding.figures["at_low"] == "512"
    assert (finding.figures["first"], finding.figures["last"]) == tuple(
        map(digits, (times[0], times[-1]))
    )
    assert finding.rows[0] == ("512", "4", digits(times[0] / 10), "0.100", digits(times[0]))
    assert [row[1] for row in finding.rows] == ["4"] * 5 + ["1"]


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((1, 1, 1, 3, 9, 4), "true"),
        ((1, 1, 1, 6, 9, 5.1), "more"),
        ((9, 9, 9, 2.5, 3.5, 4), "partly"),
        ((9, 9, 9, 2.5, 2.9, 2.5), "false"),
    ],
)
def test_c8_looks_beyond_2048_alone(times, said):
    finding = judged("C8", *sweeps("C8", gains(*times)))
    assert finding.verdict == said and [row[0] for row in finding.rows] == ["4096", "8192", "16384"]
    assert finding.figures["high"] == digits(max(times[3:]))
    over = sum(one > 5 for one in times[3:])
    assert (finding.figures["over"], finding.figures["n"]) == (f"{over}", "3")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((1.15, 1.2, 1.2, 1.2, 2, 3), "true"),
        ((1.21, 1.3, 1.25, 1.3, 2, 3), "more"),
        ((1.1, 1.2, 1.2, 1.2, 1.2, 1.2), "partly"),
        ((1.1, 1.1, 0.8, 1.1, 1.1, 1.14), "false"),
    ],
)
def test_c11_is_told_in_percent(times, said):
    finding = judged("C11", *sweeps("C11", gains(*times)))
    assert finding.verdict == said
    assert finding.figures["low"] == f"{100 * (min(times) - 1):.0f}"


@pytest.mark.parametrize("key", ["C7", "C8", "C11"])
def test_lengths_without_a_time_are_left_out(key):
    slow = "three" if key == "C11" else "sdpa_math"

    def us(provider, value):
        return "no_memory" if provider == slow and value in (1024, 8192) else 100.0

    finding = judged(key, *sweeps(key, us))
    assert not {"1024", "8192"} & {row[0] for row in finding.rows}
    with pytest.raises(NotEnough):
        judged(key, *sweeps(key, lambda who, _: "no_memory" if who == slow else 100.0))


@pytest.mark.parametrize(
    ("gb", "ms", "said", "n"),
    [
        ((20, 10, 4), (300, 100, 60), "true", "4"),
        ((20, 4, 4), (300, 50, 60), "partly", "2"),
        ((4, 4, 4), (60, 60, 60), "false", "0"),
    ],
)
def test_c10_holds_four_ratios_against_the_articles(gb, ms, said, n):
    memory_case, sweep_case = CLAIMS["C10"].cases
    at = dict(zip(("sdpa_math", "sdpa_flash", "ours"), ms, strict=True))
    by = dict(zip(("sdpa_math", "sdpa_flash", "flash_attention"), gb, strict=True))
    peaks = memory_run(memory_case, lambda who, _: by[who] * 1e3 if who in by else "out_of_memory")
    times = sweep_run(sweep_case, lambda who, _: at[who] * 1e3 if who in at else "refused")
    finding = judged("C10", peaks, times)
    assert finding.verdict == said and finding.figures["n"] == n
    # 12.7 by 3.8 GB, 5.3 by 3.8; 185 by 67 ms, 92 by 67.
    claimed = {"eager_gb": "3.34", "flash_gb": "1.39", "eager_ms": "2.76", "flash_ms": "1.37"}
    assert {f"{k}_claimed": v for k, v in claimed.items()}.items() <= finding.figures.items()
    assert finding.figures["eager_gb"] == digits(gb[0] / gb[2])
    # Ours, then torch's two: what has neither number has no row.
    assert [row[0] for row in finding.rows] == ["Blockwise", "SDPA flash", "SDPA math"]
    assert finding.rows[0][1:] == (digits(gb[2]), "1.00", digits(ms[2]), "1.00")


# Tiles.


def product_runs(ms, torch_ms):
    tiles, sizes = CLAIMS["C12"].cases

    def us(provider, value):
        return "failed" if torch_ms is None and provider == "torch" else 1e3 * (torch_ms or 1)

    return landscape_run(tiles, ms), sweep_run(sizes, us)


def tile_of(settings):
    return settings["block_m"], settings["block"], settings["block_k"]


@pytest.mark.parametrize(
    ("others_ms", "torch_ms", "said", "share", "place"),
    [
        (2.0, 0.78, "true", "78", "1"),
        (2.0, 0.5, "partly", "50", "1"),
        (0.5, 0.5, "false", "50", "18"),
    ],
)
def test_c12_is_told_of_torch_and_of_the_best(others_ms, torch_ms, said, share, place):
    runs = product_runs(lambda s: 1.0 if tile_of(s) == (64, 64, 32) else others_ms, torch_ms)
    finding = judged("C12", *runs)
    assert finding.verdict == said and finding.figures["share"] == share
    assert (finding.figures["place"], finding.figures["n"]) == (place, "18")
    assert "64 × 64 × 32" in [row[0] for row in finding.rows]
    # 2 x 4096^3 operations in 1 ms are 137 TFLOP/s.
    claimed = next(row for row in finding.rows if row[0] == "64 × 64 × 32")
    assert claimed[3:] == ("137", f"{share} %")


def test_c12_needs_the_tile_and_torch():
    for runs in (
        product_runs(lambda s: "failed" if tile_of(s) == (64, 64, 32) else 1.0, 1.0),
        product_runs(lambda s: 1.0, None),
    ):
        with pytest.raises(NotEnough):
            judged("C12", *runs)


FACTS = {"registers": 160, "spills": 0, "shared_bytes": 1024, "warps": lambda s: s["num_warps"]}


def landscapes(key, ms, **facts):
    return [landscape_run(case, ms, **{**FACTS, **facts}) for case in CLAIMS[key].cases]


@pytest.mark.parametrize(
    ("best", "said"), [((128, 128), "true"), ((128, 64), "partly"), ((64, 64), "false")]
)
def test_c13_looks_at_the_blocks_of_the_fastest(best, said):
    def ms(settings):
        blocks = settings["block_m"], settings["block"]
        return "unfit" if blocks == (256, 256) else 1.0 if blocks == best else 1.5

    finding = judged("C13", *landscapes("C13", ms))
    assert finding.verdict == said and finding.figures["best_2"] == f"{best[0]} × {best[1]}"
    assert finding.figures["over_1"] == ("1.00" if best == (64, 64) else "1.50")
    wide = [row for row in finding.rows if row[:2] == ("128", "256 × 256")]
    assert wide == [("128", "256 × 256", *["–"] * 5)]
    # 160 registers a thread leave room for 12 warps of 64: 3 programs of 4 warps, 1 of 8.
    assert {row[-1] for row in finding.rows if row[2] == "4"} == {"19 %"}
    assert {row[-2] for row in finding.rows if row[2] == "4"} == {"1.00"}


@pytest.mark.parametrize(
    ("facts", "fastest", "said", "higher"),
    [
        ({}, 3, "true", "72"),
        # 2 programs a multiprocessor, however many warps each has.
        ({"registers": 32, "shared_bytes": 100 * 1024}, 3, "partly", "0"),
        ({}, 2, "partly", "72"),
        ({"registers": 32, "shared_bytes": 100 * 1024}, 1, "false", "0"),
        # 16 warps a multiprocessor, however many programs share them; of 128 rows as above.
        ({"registers": 128}, 1, "false", "0"),
        ({"registers": lambda s: 160 if s["block_m"] == 128 else 128}, 3, "true", "24"),
    ],
)
def test_c14_compares_settings_that_differ_in_one_thing(facts, fastest, said, higher):
    finding = judged(
        "C14", *landscapes("C14", lambda s: 1.0 + (s["num_stages"] != fastest), **facts)
    )
    assert finding.verdict == said
    assert (finding.figures["higher"], finding.figures["pairs"]) == (higher, "72")
    assert finding.figures["stages"] == f"{fastest}, {fastest}"


def test_c14_is_not_decided_within_the_spread_or_without_occupancy():
    runs = landscapes("C14", lambda s: 1.0 + 0.01 * (s["num_stages"] != 3))
    assert judged("C14", *runs).verdict == "partly"
    # 3 stages at one head size of two are a part as well.
    shorter, longer = landscapes("C14", lambda s: 1.0 + (s["num_stages"] != 3), registers=255)
    other = landscapes("C14", lambda s: 1.0 + (s["num_stages"] != 2), registers=255)[1]
    mixed = judged("C14", shorter, other)
    assert mixed.verdict == "partly"
    assert (mixed.figures["hidden"], mixed.figures["of"]) == ("1", "2")
    with pytest.raises(NotEnough):
        judged("C14", *landscapes("C14", lambda s: 1.0, registers=None))
    with pytest.raises(NotEnough):
        judged("C14", *landscapes("C14", lambda s: "failed" if s["num_stages"] == 3 else 1.0))


# Rows.


@pytest.mark.parametrize(
    ("helped", "us", "said", "counts"),
    [
        (range(10**6), 50.0, "true", ("6", "0")),
        ((2048,), 50.0, "partly", ("1", "0")),
        ((2048,), 99.0, "false", ("0", "0")),  # within p20 to p80
        ((2048,), 200.0, "false", ("0", "1")),
    ],
)
def test_c19_needs_more_than_the_spread(helped, us, said, counts):
    def times(provider, value):
        return us if provider == "load_ca" and value in helped else 100.0

    finding = judged("C19", *sweeps("C19", times))
    assert finding.verdict == said
    assert (finding.figures["faster"], finding.figures["slower"]) == counts
    if us == 50.0:
        assert (finding.figures["best"], finding.figures["gain"]) == ("Blockwise load .ca", "100.0")
    assert finding.figures["n"] == "36"
    told = f"{1e4 / us - 100:+.1f}".replace("-", "−")
    assert finding.rows[1][:4] == ("2048", "100.0 (98.0–103.0)", told, "+0.0")


def columns(single=50.0, middle=200.0, long=50.0, longest=50.0):
    """Return µs of softmax: torch takes 100, what is told is of a single block and of blocks."""

    def us(provider, n):
        if provider == "single":
            return "failed" if n == 98304 else single if n <= 12_672 else 80.0
        if provider == "online":
            return 50.0 if n <= 6000 else middle if n < 30_000 else long if n < 60_000 else longest
        return {"torch": 100.0, "compile": 90.0}.get(provider, 40.0)

    return us


@pytest.mark.parametrize(
    ("times", "said", "n"),
    [
        ({}, "true", "4"),
        ({"longest": 85.0}, "partly", "3"),  # a single block is ahead still
        ({"middle": 50.0}, "partly", "3"),
        ({"single": 200.0}, "partly", "3"),
        ({"single": 200.0, "middle": 50.0, "long": 200.0, "longest": 200.0}, "false", "0"),
    ],
)
def test_c20_is_four_parts(times, said, n):
    finding = judged("C20", *sweeps("C20", columns(**times)))
    assert finding.verdict == said and finding.figures["n"] == n
    of = {k: finding.figures[f"{k}_of"] for k in ("single", "behind", "passes", "first")}
    assert of == {"single": "14", "behind": "5", "passes": "5", "first": "3"}
    if times == {"longest": 85.0}:  # but where it failed
        assert (finding.figures["first"], finding.figures["passes"]) == ("1", "5")
    assert finding.rows[-1][:3] == ("98304", "80531", "–") and finding.rows[0][-1] == "–"


@pytest.mark.parametrize(
    ("hot", "first_s", "said"),
    [(50.0, 1.5, "true"), (100.0, 1.5, "partly"), (50.0, 1e-4, "partly"), (100.0, 1e-4, "false")],
)
def test_c22_shows_both_lies(hot, first_s, said):
    cold_case, hot_case = CLAIMS["C22"].cases
    assert not cold_case.is_hot and hot_case.is_hot
    cold = sweep_run(cold_case, lambda who, _: 80.0 if who == "copy" else 100.0, first_s=first_s)
    finding = judged("C22", cold, sweep_run(hot_case, lambda *_: hot, first_s=first_s))
    assert finding.verdict == said
    assert finding.figures["hot_high"] == digits(100 / hot)
    assert finding.figures["first_low"] == digits(first_s * 1e4)
    # Hot in 50 µs, the copy in 80, cold in 100: all twelve are over it, and none was before.
    assert finding.figures["over"] == ("12" if hot == 50.0 else "0") and len(finding.rows) == 12


def test_c22_counts_no_call_over_the_copy_that_is_so_when_cold():
    cold_case, hot_case = CLAIMS["C22"].cases
    us = {"copy": 80.0, "ours": 70.0, "torch": 100.0, "compile": 100.0}
    cold = sweep_run(cold_case, lambda who, _: us[who])
    finding = judged("C22", cold, sweep_run(hot_case, lambda *_: 50.0))
    assert finding.figures["over"] == "8"


# Which runs are judged.


def test_the_newest_runs_of_one_gpu_are_judged():
    claim = CLAIMS["C7"]
    new = [any_run(case) for case in claim.cases]
    old = [replace(run, date="2025-01-01") for run in new]
    other = any_run(claim.cases[0], L4)
    assert runs_of(claim, []) is None and runs_of(claim, [other, new[1]]) is None
    assert runs_of(claim, [other, *reversed(new), *old]) == tuple(new)
    late = sweep_run(claim.cases[0], lambda who, _: "failed" if who == "sdpa_math" else 9.0, L4)
    theirs = [late, any_run(claim.cases[1], L4)]
    assert runs_of(claim, theirs) is None  # its lengths do not suffice
    assert runs_of(claim, [*theirs, *new]) == tuple(new)


# The command.


def test_claims_are_shown_with_their_runs_or_with_what_records_them(shell, tmp_path):
    def us(provider, n):
        took = columns()(provider, n)
        return took if isinstance(took, str) else 100 * took

    for case in CLAIMS["C20"].cases:
        recorded.write(sweep_run(case, us), tmp_path)
    code, out, err, worker = shell(["claims"])
    assert code == 0 and not err and not worker.jobs
    lines = out.splitlines()
    at = lines.index("C20 (text C): true")
    assert lines[at + 1].startswith("  NVIDIA H200, 2026-01-02: sweep softmax n_cols 256-12672 14")
    assert "single 14, single_of 14" in lines[at + 3] and "torch.compile, GB/s" in lines[at + 4]
    assert "C7 (text A): no runs that suffice. They come from:" in lines
    assert f"  {measuring.command_of(CLAIMS['C19'].cases[0])}" in lines
    only = shell(["claims", "C20", "C20"])[1]
    assert only.count("C20 (text") == 1 and "C7" not in only


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["C99"], "claim must be one of C1, C7"),
        (["--record"], "add --run"),
        (["C99", "--run"], "claim must be one of"),
        (["C7", "--run", "--record", "--commit", "z"], "Which commit"),
    ],
)
def test_a_mistake_is_told_before_anything_is_measured(shell, arguments, said):
    code, _, err, worker = shell(["claims", *arguments])
    assert code == 2 and said in err and not worker.jobs and "Traceback" not in err


def test_claims_are_measured_here_and_kept_if_asked(shell, tmp_path):
    answers = answering({case: any_run(case) for case in CLAIMS["C7"].cases})
    code, out, err, worker = shell(["claims", "C7", "C8", "--run"], worker=answers)
    # Nothing gains anything: false, of both claims, from one measurement.
    assert code == 0 and "C7 (text A): false" in out and "C8 (text B): false" in out
    assert len(worker.jobs) == 2 and "[2/2] sweep attention" in err
    assert not list(tmp_path.iterdir())
    kept = ["claims", "C7", "--run", "--record", "--commit", "0123456"]
    assert shell(kept, worker=answers)[0] == 0
    runs, refused = recorded.read_all(tmp_path)
    assert {run.case for run in runs} == set(CLAIMS["C7"].cases) and not refused
    assert shell(["claims", "C7", "--run"], device=CPU)[0] == 1


def test_a_stopped_measurement_judges_what_there_is(shell):
    cases = CLAIMS["C10"].cases
    stopped = answering({cases[0]: KeyboardInterrupt(), cases[1]: any_run(cases[1])})
    code, out, err, worker = shell(["claims", "C10", "--run"], worker=stopped)
    assert code == 130 and len(worker.jobs) == 1 and "It was stopped." in err
    assert "C10 (text B): no runs that suffice" in out
