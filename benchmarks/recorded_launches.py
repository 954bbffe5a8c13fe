"""What a recorded run of launches must be: its case and its providers' runs."""

from __future__ import annotations

from benchmarks import launches
from benchmarks.launches_events import MAX_NAME, OTHER_KINDS, device_us
from benchmarks.launches_results import KernelSpan, LaunchCase, ProviderRun
from benchmarks.recorded_fields import Damaged, names, number, one_of, rows, whole, word
from kernels.errors import InputError

MAX_SPANS = 500
MAX_US = 1e8
MAX_S = 1e5
RUN_FIELDS = {
    "provider", "direction", "spans", "launches", "device_us", "wall_us", "n_calls", "first_s",
    "worst", "reason", "message",
}  # fmt: skip


def case(given: object) -> LaunchCase:
    """Return the case; its limits are those of the page's own controls."""
    names("case", given, {"n_rows", "n_cols", "dtype"})
    try:
        return launches.choose_launches(given["n_rows"], given["n_cols"], given["dtype"])
    except InputError as error:
        raise Damaged(
            f"case.{error.details.get('name', 'n_rows × n_cols')}", error.details["got"]
        ) from None


def case_name(run_case: LaunchCase) -> str:
    """Return what tells a file of this case from others."""
    return f"{run_case.n_rows}x{run_case.n_cols} {run_case.dtype}"


def runs(given: object, _: LaunchCase) -> tuple[ProviderRun, ...]:
    """Return the runs: each provider once in each direction, with numbers or with a reason."""
    known = tuple(provider.name for provider in launches.PROVIDERS)
    found: dict[tuple[str, str], ProviderRun] = {}
    for k, one in enumerate(rows("runs", given, 100)):
        where = f"runs[{k}]"
        names(where, one, RUN_FIELDS)
        provider = one_of(f"{where}.provider", one["provider"], known)
        direction = one_of(f"{where}.direction", one["direction"], launches.DIRECTIONS)
        if (provider, direction) in found:
            raise Damaged(f"{where}.direction", direction)
        read = _measured if one["reason"] == "" else _missing
        found[provider, direction] = read(where, one)
    return tuple(found.values())


def _missing(where: str, one: dict) -> ProviderRun:
    """Return a run that has a reason, and so no numbers."""
    reason = one_of(f"{where}.reason", one["reason"], launches.REASONS)
    message = word(f"{where}.message", one["message"])
    bare = ProviderRun(one["provider"], one["direction"], reason=reason, message=message)
    for name in sorted(RUN_FIELDS):
        wanted = getattr(bare, name)
        if one[name] != (list(wanted) if isinstance(wanted, tuple) else wanted):
            raise Damaged(f"{where}.{name}", one[name])
    return bare


def _measured(where: str, one: dict) -> ProviderRun:
    """Return a run with numbers: its launches are those whose times add up to the median."""
    if one["message"] != "":
        raise Damaged(f"{where}.message", one["message"])
    spans = _spans(f"{where}.spans", one["spans"])
    device, wall = (_triple(f"{where}.{name}", one[name]) for name in ("device_us", "wall_us"))
    if abs(device_us(spans) - device[1]) > 0.001 * len(spans) + 1e-6:
        raise Damaged(f"{where}.device_us", device[1])
    counts = rows(f"{where}.launches", one["launches"], 2)
    counts = tuple(whole(f"{where}.launches", count, 1, MAX_SPANS) for count in counts)
    if len(counts) != 2 or not counts[0] <= len(spans) <= counts[1]:
        raise Damaged(f"{where}.launches", one["launches"])
    return ProviderRun(
        one["provider"],
        one["direction"],
        spans,
        counts,
        device,
        wall,
        whole(f"{where}.n_calls", one["n_calls"], 1, 100_000),
        number(f"{where}.first_s", one["first_s"], 0, MAX_S),
        number(f"{where}.worst", one["worst"], 0, 1),
    )


def _spans(where: str, given: object) -> tuple[KernelSpan, ...]:
    """Return a call's launches: in order, from 0."""
    spans: list[KernelSpan] = []
    for k, one in enumerate(rows(where, given, MAX_SPANS)):
        here = f"{where}[{k}]"
        names(here, one, {"name", "kind", "start_us", "duration_us"})
        least = spans[-1].start_us if spans else 0
        spans.append(
            KernelSpan(
                word(f"{here}.name", one["name"], MAX_NAME),
                one_of(f"{here}.kind", one["kind"], ("kernel", *OTHER_KINDS.values())),
                number(f"{here}.start_us", one["start_us"], least, MAX_US if spans else 0),
                number(f"{here}.duration_us", one["duration_us"], 0, MAX_US),
            )
        )
    return tuple(spans)


def _triple(where: str, given: object) -> tuple[float, ...]:
    """Return p20, median and p80, in this order, more than 0."""
    values = tuple(number(where, value, 1e-3, MAX_US) for value in rows(where, given, 3))
    if len(values) != 3 or list(values) != sorted(values):
        raise Damaged(where, given)
    return values
