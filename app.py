"""Blockwise: assemble the tabs into one page, set the queue, launch; nothing else.

Environment variables: BLOCKWISE_HOST (default 127.0.0.1) and PORT (default 7860), and those of
`benchmarks.worker` and `benchmarks.device`.
"""

from __future__ import annotations

import os
import tempfile
from unittest import mock

# Gradio reads both when it is imported. Its own folder for files is shared by all users of a
# machine, and belongs to the first of them.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
_USER = getattr(os, "getuid", lambda: "user")()
os.environ.setdefault("GRADIO_TEMP_DIR", os.path.join(tempfile.gettempdir(), f"blockwise-{_USER}"))

# Gradio writes an editor stub for every component class it meets: half of its start-up time, and
# files among ours. It leaves out classes whose source it cannot find, so here it finds none.
with mock.patch("inspect.getfile", side_effect=OSError("no stubs")):
    import gradio as gr

    from viz import theme
    from viz.from_memory import FromMemory
    from viz.tabs import lesson, run
    from viz.tabs.header import Header, header_value
    from viz.tabs.measure import tabs as measures
    from viz.tabs.page import QUIET, WAITING, Page, known_device, merge
    from viz.tabs.watch import WATCH_CSS, WatchTab

from benchmarks.worker import Worker
from viz.locales import LANGUAGES, from_browser

# How long the queue sleeps when it is empty. Gradio's own 0.001 takes 9 % of a core while nobody is
# here; an answer waits at most this long.
IDLE_S = 0.01


def build(worker: Worker) -> gr.Blocks:
    """Return the page. ``worker`` runs its kernels; it is started by whoever launches the page."""
    with gr.Blocks(
        title="Blockwise", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)
    ) as page_blocks:
        page = Page(worker, gr.State("en"), gr.State({}))
        header = Header(header_value("en", None))
        with gr.Tabs(elem_id="tabs") as tabs:
            with page.label(gr.Tab("Watch", id="watch"), label="tab.watch"):
                watch = WatchTab(page)
            with page.label(gr.Tab("Run", id="run"), label="tab.run"):
                ran = run.build(page)
            with page.label(gr.Tab("Measure", id="measure"), label="tab.measure") as measure:
                measures.build(page, measure)
            with page.label(gr.Tab("Lesson", id="lesson"), label="tab.lesson"):
                lesson.build(page)
        watch.listen()

        def opened(request: gr.Request) -> dict:
            """Fill the page for a link, in the link's or the browser's language."""
            language = from_browser(request.headers.get("accept-language"))
            state, shown = watch.open_link(dict(request.query_params), language)
            words = page.relabel(state.language) if state.language != "en" else {}
            return merge({page.language: state.language}, words, shown)

        async def say_hardware(language: str) -> dict:
            """Say in the header what runs the kernels, once the worker knows."""
            return header_value(language, await known_device(worker))

        def switch(event: gr.EventData, *values: object) -> dict:
            """Say everything in another language; what is watched stays, step and all."""
            try:
                asked = event.language
            except (AttributeError, TypeError):  # a client can send anything as an event
                asked = None
            language = asked if asked in LANGUAGES else "en"
            told = {page.language: language, header: header_value(language, run.device_now(worker))}
            return merge(told, page.relabel(language), watch.show_whole(language, *values))

        def watch_row(*about: object) -> dict:
            """Open Watch on a row of a case that was run."""
            return {tabs: gr.update(selected="watch"), **watch.open_row(*about)}

        filled = list(dict.fromkeys([page.language, *watch.whole, *page.labelled]))
        page_blocks.load(opened, None, filled, **QUIET).then(
            say_hardware, page.language, header, **WAITING, **QUIET
        )
        ran.watch_button.click(
            watch_row, [page.language, ran.result, ran.row], [tabs, *watch.whole], **QUIET
        )
        header.select(switch, watch.inputs, [page.language, header, *filled[1:]], **QUIET).then(
            say_hardware, page.language, header, **WAITING, **QUIET
        )
    return page_blocks


def serve(worker: Worker, host: str, port: int) -> gr.Blocks:
    """Serve the page at ``host``:``port`` in the background. Raise OSError if the port is taken."""
    page_blocks = build(worker)
    # Handlers are reached through the queue only: its limits are what keeps one GPU one job.
    # With a fixed rate of news, a class that arrives at once is not told of every place it moves.
    page_blocks.queue(
        api_open=False, default_concurrency_limit=16, max_size=4096, status_update_rate=5.0
    )
    page_blocks._queue.sleep_when_free = IDLE_S
    page_blocks.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        theme=theme.theme(),
        css=theme.page_css() + run.RUN_CSS + measures.css(),
        head=theme.head_css() + f"<style>{WATCH_CSS}</style>",
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        show_error=False,
        max_file_size=1,  # the page takes no files
        state_session_capacity=500,
        enable_monitoring=False,
        app_kwargs={"middleware": [(FromMemory, (), {})]},  # a class, its arguments, its options
    )
    return page_blocks


def main() -> None:
    """Serve the page until stopped."""
    host, port = os.environ.get("BLOCKWISE_HOST", "127.0.0.1"), os.environ.get("PORT", "7860")
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise SystemExit(f"PORT must be a number from 1 to 65535, got {port!r}.")
    wanted = os.environ.get("BLOCKWISE_DEVICE", "")
    if wanted.strip().lower() not in ("", "auto", "cpu", "gpu"):
        raise SystemExit(f"BLOCKWISE_DEVICE must be auto, cpu or gpu, got {wanted!r}.")
    worker = Worker()
    try:
        page_blocks = serve(worker, host, int(port))
    except OSError:
        raise SystemExit(f"{host}:{port} cannot be used: set PORT or BLOCKWISE_HOST.") from None
    print(
        f"Blockwise is on http://{'localhost' if host == '127.0.0.1' else host}:{port}", flush=True
    )
    worker.start()  # only now: importing torch beside Gradio would make the first answer late
    page_blocks.block_thread()


if __name__ == "__main__":
    main()
