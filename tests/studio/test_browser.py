"""The studio in a real Chromium, as a person uses it: drop, choose, fit, stop, download, and what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from conftest import real_studio, tiny_record

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("studio"),
    pytest.mark.slow,
]
DROP_ALL = """(files) => {
  const data = new DataTransfer();
  for (const [text, name] of files) data.items.add(new File([text], name));
  const zone = document.getElementById("drop");
  const options = {dataTransfer: data, bubbles: true, cancelable: true};
  for (const kind of ["dragover", "drop"]) zone.dispatchEvent(new DragEvent(kind, options));
}"""
PATIENCE = 240_000  # ms for anything on a page: a fit on a busy machine may have to compile first


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with real_studio(tmp_path_factory.mktemp("data")) as running:
        yield running


def opened(browser, url, **options):
    """A page, and everything on it that went wrong: errors, and messages of the console but for the one style of maps
    that plotly.js brings along and the policy refuses."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))

    def said(message):
        expected = "static/plotly.js" in message.location["url"] and "inline style" in message.text
        if message.type == "error" and not expected:
            page.wrong.append(message.text)

    page.on("console", said)
    page.goto(url)
    page.wait_for_selector("body[data-ready=yes]")
    return page


@pytest.fixture
def page(browser, studio):
    page = opened(browser, studio.url, accept_downloads=True)
    yield page
    page.context.close()
    assert page.wrong == []


def drop(page, text, name):
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#drop")
    page.evaluate(DROP_ALL, [[text, name]])
    page.wait_for_selector("#diagnosis")


def looked(page, times):
    """The record was looked at so often (the policy lets no test evaluate text inside the page's own script)."""
    page.wait_for_selector(f"[data-looked='{times}']")


def ask(studio, path, data=None, method=None, **headers):
    """The API as another program would ask it."""
    token = studio.url.partition("token=")[2].partition("#")[0]
    body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{studio.port}{path}", body, method=method)
    for name, value in {"x-jetode-token": token, "content-type": "application/json", **headers}.items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def test_from_drop_to_download(page, studio, tiny, tmp_path):
    drop(page, tiny, "swing.csv")
    assert page.inner_text("#record-name") == "swing.csv"
    assert page.input_value("#dt") == "0.1" and page.input_value("#unit") == "s"
    assert page.locator("#columns svg path").count() == 3
    page.wait_for_selector("#curve[data-drawn]")

    page.get_by_label("y", exact=True).check()
    looked(page, 2)
    box = page.locator("#curve .nsewdrag").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.85 * box["width"], y, steps=8)
    page.mouse.up()
    looked(page, 3)
    assert abs(int(page.input_value("#from")) - 90) < 25 and abs(int(page.input_value("#to")) - 765) < 25
    page.fill("#unit", "ms")
    looked(page, 4)
    assert "0.1 ms" in page.inner_text("#diagnosis")

    page.fill("#name", "my swing")
    begin_fit(page)
    page.wait_for_selector("#verdict")
    assert page.inner_text("#job-name") == "my swing"
    assert page.get_attribute("#verdict", "data-grade") in ("exact", "approximate", "forecast", "none")
    page.wait_for_selector("#forecast[data-drawn]")
    shown = page.inner_text("output[for=forecast-horizon]")
    page.focus("#forecast-horizon")
    page.keyboard.press("Home")
    assert page.inner_text("output[for=forecast-horizon]") != shown

    for kind in ("report", "model", "forecast", "python"):
        with page.expect_download() as waiting:
            page.click(f"[data-file={kind}]")
        path = tmp_path / kind
        waiting.value.save_as(path)
        assert "my-swing" in waiting.value.suggested_filename and path.stat().st_size > 100
    assert json.loads((tmp_path / "model").read_text())["format"] == "jetode-model"
    assert (tmp_path / "report").read_text().startswith("<!doctype html>")
    compile((tmp_path / "python").read_text(), "export.py", "exec")

    page.set_input_files("#new-file", {"name": "today.csv", "mimeType": "text/csv", "buffer": tiny_record(5).encode()})
    page.wait_for_selector("#new-forecast[data-drawn]")
    with page.expect_download() as waiting:
        page.click("#new-csv")
    assert Path(waiting.value.path()).read_text().startswith("t,value")

    page.reload()
    page.wait_for_selector("#verdict")
    assert "token" not in page.url


@pytest.fixture(scope="module")
def finished(studio, tiny):
    """The number of a result, made once for all tests that only look at one."""
    made = sent(studio, tiny, "finished.csv")
    job = ask(studio, "/api/jobs", {**fit_of(made), "name": "finished", "settings": {"order": 2}})
    wait_for(lambda: state_of(studio, job["id"]) == "done", PATIENCE / 1000)
    return job["id"]


def sent(studio, text, name):
    """The number of a record that was taken in without the page."""
    return ask(studio, f"/api/records?name={name}", text.encode())["id"]


def fit_of(record, **reading):
    """A fit that ends soon, whatever it finds."""
    reading = {"column": 2, **reading}
    return {"records": [{"id": record, "reading": reading}], "settings": {"order": 2, "max_seconds": 0.5}}


def state_of(studio, id_):
    return ask(studio, f"/api/jobs/{id_}")["state"]


def begin_fit(page, seconds=None):
    """Press the button, with the order given: its kernels are compiled by then."""
    page.click("#settings summary")
    page.select_option("#order", "2")
    if seconds is not None:
        page.fill("#seconds", str(seconds))
    page.click("#fit")


def test_the_report_runs_in_a_sandbox_of_its_own(page, studio, finished):
    page.goto(f"http://127.0.0.1:{studio.port}/api/jobs/{finished}/files/report?view")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.evaluate("window.origin") == "null"


def test_a_second_record_is_compared_and_seen_in_two_tabs(page, studio, finished):
    other = page.context.new_page()
    other.goto(studio.url + "#history")
    other.wait_for_selector("body[data-ready=yes]")
    page.bring_to_front()
    drop(page, tiny_record(7), "again.csv")
    begin_fit(page)
    page.wait_for_selector("#verdict")
    other.bring_to_front()
    other.wait_for_selector("#jobs li:has-text('again.csv')[data-state=done]")
    page.bring_to_front()
    page.select_option("#compare", str(finished))
    page.wait_for_selector("#comparison table")


def test_two_files_dropped_at_once_give_one_equation(page, studio):
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#drop")
    page.evaluate(DROP_ALL, [[tiny_record(11), "monday.csv"], [tiny_record(12), "tuesday.csv"]])
    page.wait_for_selector("#diagnosis")
    assert page.inner_text("#record-name") == "monday.csv"
    assert page.get_by_label("tuesday.csv").is_checked()
    begin_fit(page, 2)
    page.wait_for_selector("#verdict")
    job = ask(studio, f"/api/jobs/{page.url.partition('#job=')[2]}")
    names = {r["id"]: r["name"] for r in ask(studio, "/api/state")["records"]}
    assert [names[one["id"]] for one in job["request"]["records"]] == ["tuesday.csv", "monday.csv"]
    assert "2 records" in page.inner_text("#main")


def test_an_answer_later_than_its_events_takes_nothing_back(page, studio, tiny):
    """The answer to the button that begins a fit, kept back until the fit has ended, still calls it waiting."""

    def late(route):
        answer = route.fetch()
        wait_for(lambda: state_of(studio, answer.json()["id"]) == "done", PATIENCE / 1000)
        route.fulfill(response=answer)

    drop(page, tiny, "late.csv")
    page.route("**/api/jobs", late)
    begin_fit(page, 0.5)
    page.wait_for_selector("#verdict")


def wandering() -> str:
    """A swing whose size wanders: no equation of two coordinates explains it, so the search goes on until stopped."""
    head, *lines = tiny_record(3, 2000).splitlines()
    rows = [line.split(",") for line in lines]
    return head + "\n" + "".join(f"{t},{float(x) * (1 + 0.3 * np.sin(float(t) / 30)):.6f},0\n" for t, x, _ in rows)


def test_stop_keeps_the_best_so_far(page):
    drop(page, wandering(), "long.csv")
    begin_fit(page)
    page.wait_for_selector("#best")
    assert "x' =" in page.inner_text("#best")
    page.wait_for_selector("figure .plot[data-drawn]")
    page.click("#stop")
    page.wait_for_selector("#verdict")
    assert "stopped" in page.inner_text("#verdict")


def test_a_killed_job_is_a_message_and_the_next_one_runs(page, studio):
    drop(page, wandering(), "killed.csv")
    begin_fit(page)
    page.wait_for_selector("#stages li")
    workers = subprocess.run(["pgrep", "-P", str(studio.pid), "-f", "--", "--kind"], capture_output=True, text=True)
    os.kill(int(workers.stdout.split()[0]), signal.SIGKILL)
    page.wait_for_selector("#again")
    assert "signal 9" in page.inner_text("[role=alert]")
    page.click("#again")
    page.wait_for_selector("#stages li")
    page.click("#stop")
    page.wait_for_selector("#again, #verdict")


def test_twenty_jobs_a_kill_and_a_restart(page, studio, tiny):
    """Every fourth is a fit, the others end with a sentence, since a stretch of 50 samples is too short for one."""
    for job in ask(studio, "/api/state")["jobs"]:
        if job["state"] in ("queued", "running"):
            ask(studio, f"/api/jobs/{job['id']}", method="DELETE")
    record = sent(studio, tiny, "many.csv")
    fits = [fit_of(record) if i % 4 == 0 else fit_of(record, end=50) for i in range(20)]
    ids = [ask(studio, "/api/jobs", {**one, "name": f"queued {i}"})["id"] for i, one in enumerate(fits)]
    page.evaluate("location.hash = '#history'")
    page.wait_for_selector(f"li[data-job='{ids[-1]}']")
    wait_for(lambda: any(j["id"] in ids and j["state"] == "running" for j in ask(studio, "/api/state")["jobs"]))
    studio.kill()
    page.wait_for_selector("#banner:visible")
    left = [j for j in json_jobs(studio.data) if j[0] in ids and j[1] in ("queued", "running")]
    assert left
    studio.start()
    page.wait_for_selector("#banner", state="hidden")
    for i, id_ in enumerate(ids):
        page.wait_for_selector(f"li[data-job='{id_}'][data-state={'failed' if i % 4 else 'done'}]")
    page.wrong = [
        text for text in page.wrong if "ERR_" not in text and "Failed to load" not in text
    ]  # while it was away


def json_jobs(data):
    import sqlite3

    base = sqlite3.connect(data / "studio.sqlite")
    try:
        return base.execute("SELECT id, state FROM jobs").fetchall()
    finally:
        base.close()


def test_hostile_names_are_shown_as_text(page, tiny):
    hostile = "<img src=x onerror=document.title='hit'>"
    text = tiny.replace("x [mV]", "<svg onload=document.title='hit'>").replace(",y\n", ",<b>y</b>\n", 1)
    drop(page, text, f"{hostile}.csv")
    assert page.inner_text("#record-name") == f"{hostile}.csv"
    page.wait_for_selector("#curve[data-drawn]")
    assert page.locator("#columns label").nth(1).inner_text().strip().startswith("<svg onload")
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#records")
    assert page.locator("main img, main b, main svg[onload]").count() == 0
    assert page.title() != "hit"


def test_an_oversize_file_is_refused_before_it_is_sent(page):
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#drop")
    page.evaluate(
        """async () => {
        const { state } = await import("/static/api.js");
        state.limit = 1 << 20;
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array((1 << 20) + 1)], "huge.csv"));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }"""
    )
    page.wait_for_selector("[role=alert]:has-text('larger than 1 MB')")


def test_a_file_that_is_no_record_says_so(page):
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#drop")
    page.evaluate(DROP_ALL, [["not a table at all", "letter.csv"]])
    page.wait_for_selector("[role=alert]:has-text('letter.csv')")
    assert page.is_disabled("#fit")


def test_wrong_token_and_foreign_origin(browser, studio):
    context = browser.new_context()
    page = context.new_page()
    home = f"http://127.0.0.1:{studio.port}"
    assert page.goto(home + "/").status == 403
    assert page.goto(home + "/?token=" + "x" * 43).status == 403
    page.goto(studio.url)
    page.wait_for_selector("body[data-ready=yes]")
    # the same browser, cookie and all, from a page of another origin (another name of the same machine is one)
    page.route("http://evil.test/", lambda route: route.fulfill(body="<title>evil</title>", content_type="text/html"))
    page.goto("http://evil.test/")
    posted = """async (home) => { try { return (await fetch(home + "/api/jobs", {method: "POST", body: "{}",
      credentials: "include", headers: {"content-type": "text/plain"}})).status; } catch { return "refused"; } }"""
    assert page.evaluate(posted, home) in ("refused", 403)
    listened = """(home) => new Promise((done) => {
      const source = new EventSource(home + "/api/events", {withCredentials: true});
      source.onerror = () => done("refused"); source.onopen = () => done("open"); })"""
    assert page.evaluate(listened, home) == "refused"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        ask(studio, "/api/jobs", {}, origin="http://evil.test")
    with pytest.raises(urllib.error.HTTPError, match="421"):
        ask(studio, "/api/state", host=f"evil.test:{studio.port}")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(browser, studio, scheme, finished):
    phone = opened(browser, studio.url, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for place in ("#home", "#history", f"#job={finished}"):
        phone.evaluate("(place) => { location.hash = place; }", place)
        phone.wait_for_selector("#verdict" if "job" in place else "main h1")
        over = phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, place
    assert phone.evaluate("document.documentElement.dataset.theme") == scheme
    unnamed = phone.evaluate(
        """() => [...document.querySelectorAll("input:not([hidden]), select, button, a")].filter((e) =>
        !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    phone.context.close()
    assert phone.wrong == []


def test_the_keyboard_is_enough(page, tiny):
    drop(page, tiny, "keys.csv")
    page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "fit":
            break
    else:
        raise AssertionError("the button that begins the fit cannot be reached")
    page.keyboard.press("Enter")
    page.wait_for_selector("#stop, #verdict")
    if page.locator("#stop").count():
        page.focus("#stop")
        page.keyboard.press("Enter")
        page.wait_for_selector("#again, #verdict")


def test_ctrl_c_ends_it_and_its_processes(tmp_path):
    with real_studio(tmp_path, "--demo") as studio:
        pids = wait_for(lambda: subprocess.run(["pgrep", "-P", str(studio.pid)], capture_output=True, text=True).stdout)
        assert studio.url.endswith("#record=1")
        assert studio.stop() == 0
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids.split()), 10)
