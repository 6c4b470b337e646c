"""The job API as a program meets it: who may speak, what is refused in one sentence, a record's way to its result."""

from __future__ import annotations

import json
import time

import pytest
from starlette.testclient import TestClient

from jetode.studio import app as studio_app
from jetode.studio import uploads
from jetode.studio.app import Studio, make_app
from jetode.studio.guard import hosts
from jetode.studio.settings import Limits
from jetode.studio.store import Store

TOKEN = "t" * 40
HOME = "http://127.0.0.1:8642"


def client_of(path) -> TestClient:
    app = make_app(Studio(Store(path)), TOKEN, hosts("127.0.0.1", 8642), 8642)
    return TestClient(app, base_url=HOME, headers={"x-jetode-token": TOKEN})


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("studio")) as client:
        yield client


def added(client: TestClient, text: str, name: str = "pendulum.csv") -> dict:
    answer = client.post("/api/records", params={"name": name}, content=text.encode())
    assert answer.status_code == 201, answer.text
    return answer.json()


def ended(client: TestClient, id_: int, seconds: float = 90.0) -> dict:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job = client.get(f"/api/jobs/{id_}").json()
        if job["state"] not in ("queued", "running"):
            return job
        time.sleep(0.1)
    raise AssertionError(job)


# -- who may speak ---------------------------------------------------------------------------------------------------


def bare(path, **headers) -> TestClient:
    app = make_app(Studio(Store(path)), TOKEN, hosts("127.0.0.1", 8642), 8642)
    return TestClient(app, base_url=HOME, headers=headers)


def test_only_the_token_opens_the_page(tmp_path):
    client = bare(tmp_path)
    assert client.get("/").status_code == 403
    assert client.get("/", params={"token": "x" * 40}).status_code == 403
    assert client.get("/api/state").status_code == 403
    assert client.get("/api/state", params={"token": TOKEN}).status_code == 403  # the address opens the page alone
    opened = client.get("/", params={"token": TOKEN})
    assert opened.status_code == 200 and "<title>jetode studio" in opened.text
    kept = opened.headers["set-cookie"]
    assert "HttpOnly" in kept and "SameSite=Strict" in kept
    assert client.get("/").status_code == 200 and client.get("/api/state").status_code == 200  # with the cookie now


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "127.0.0.1:80", "127.0.0.1.evil.example:8642", ""]
)
def test_another_host_is_refused(tmp_path, host):
    answer = bare(tmp_path, **{"x-jetode-token": TOKEN}).get("/", headers={"host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:8642"])
def test_a_foreign_origin_is_refused(tmp_path, origin):
    client = bare(tmp_path, **{"x-jetode-token": TOKEN, "origin": origin})
    assert client.post("/api/jobs", json={}).status_code == 403
    assert client.get("/api/state").status_code == 403
    fetched = bare(tmp_path, **{"x-jetode-token": TOKEN, "sec-fetch-site": "cross-site"})
    assert fetched.post("/api/jobs", json={}).status_code == 403


def test_every_answer_says_what_it_may_load(tmp_path):
    client = bare(tmp_path)
    for answer in (client.get("/"), client.get("/", params={"token": TOKEN}), client.get("/static/studio.js")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src 'self'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    page = client.get("/").text
    assert "<script>" not in page and "style=" not in page and "http://" not in page


def test_paths_stay_inside(client):
    for name in ("../app.py", "..%2Fapp.py", "%2e%2e/%2e%2e/etc/passwd", "en.json/../index.html", "index.html"):
        assert client.get(f"/static/{name}").status_code == 404
    assert client.get("/api/records/../../etc/look").status_code in (404, 405)
    assert client.get("/api/jobs/99999999999999999999/result").status_code in (400, 404)


# -- records ---------------------------------------------------------------------------------------------------------


def test_a_look_finds_columns_time_and_words(client, tiny):
    record = added(client, tiny)
    begin = time.monotonic()
    found = client.post(f"/api/records/{record['id']}/look", json={}).json()
    assert time.monotonic() - begin < 30
    assert [c["label"] for c in found["columns"]] == ["t [s]", "x [mV]", "y"]
    assert (
        found["time"] == 1 and found["dt"] == pytest.approx(0.1) and found["time_unit"] == "s" and found["column"] == 2
    )
    assert len(found["curve"]["t"]) == len(found["curve"]["y"]) == found["samples"] == 900
    assert "900 samples, one every 0.1 s" in found["diagnosis"]["words"][0]
    asked = {"column": 3, "time_unit": "ms", "begin": 100, "end": 700}
    again = client.post(f"/api/records/{record['id']}/look", json=asked).json()
    assert again["column"] == 3 and again["time_unit"] == "ms" and (again["begin"], again["end"]) == (100, 700)
    assert "600 samples" in again["diagnosis"]["words"][0]
    kept = next(r for r in client.get("/api/state").json()["records"] if r["id"] == record["id"])
    assert kept["reading"] == asked


def test_without_times_a_step_counts_one_until_it_is_given(client):
    record = added(client, "\n".join(str((i * 7919) % 101) for i in range(400)), "counts.txt")
    found = client.post(f"/api/records/{record['id']}/look", json={}).json()
    assert found["assumed"] and found["dt"] == 1.0 and found["time"] is None
    again = client.post(f"/api/records/{record['id']}/look", json={"dt": 0.02, "time_unit": "h"}).json()
    assert not again["assumed"] and again["dt"] == 0.02 and again["time_unit"] == "h"


def test_unequal_times_are_never_resampled_unasked(client):
    times = [0.1 * i + (0.03 if i % 3 == 0 else 0.0) for i in range(600)]
    text = "t,x\n" + "".join(f"{t:.4f},{i % 17}\n" for i, t in enumerate(times))
    record = added(client, text, "uneven.csv")
    found = client.post(f"/api/records/{record['id']}/look", json={}).json()
    assert "uneven.csv" in found["problem"] and found["resample"] == pytest.approx(0.1, rel=0.4)
    again = client.post(f"/api/records/{record['id']}/look", json={"resample": found["resample"]}).json()
    assert again["dt"] == pytest.approx(found["resample"])


def test_gaps_and_outliers_are_marked(client, tiny):
    lines = tiny.splitlines()
    for i in (301, 302, 303):
        lines[i] = lines[i].split(",")[0] + ",,"
    cells = lines[501].split(",")
    lines[501] = f"{cells[0]},40,{cells[2]}"
    record = added(client, "\n".join(lines), "gaps.csv")
    found = client.post(f"/api/records/{record['id']}/look", json={"column": 2}).json()
    assert found["gaps"] == [[300, 302]] and found["outliers"] == [500]
    assert any("missing" in w for w in found["diagnosis"]["words"])


def test_hostile_names_are_text(client, tiny):
    name = "<img src=x onerror=alert(1)>\u202e../../etc/passwd\x00\n.csv"
    record = added(client, tiny.replace("x [mV]", "<script>alert(2)</script>"), name)
    assert "\n" not in record["name"] and "\x00" not in record["name"] and "\u202e" not in record["name"]
    found = client.post(f"/api/records/{record['id']}/look", json={}).json()
    assert "<script>alert(2)</script>" in [c["label"] for c in found["columns"]]
    answer = client.post(f"/api/records/{record['id']}/look", json={"column": 9}).json()
    assert (
        "<img" in answer["problem"] and "00000" not in answer["problem"]
    )  # by its owner's name, not by the stored one


def test_oversize_and_empty_uploads_leave_nothing(tmp_path, monkeypatch):
    small = Limits(upload=10_000)
    monkeypatch.setattr(uploads, "LIMITS", small)
    monkeypatch.setattr(studio_app, "LIMITS", small)
    with client_of(tmp_path) as client:
        declared = client.post("/api/records?name=a.csv", content=b"1" * 10_001)
        streamed = client.post("/api/records?name=a.csv", content=(b"1" * 1000 for _ in range(11)))
        assert declared.status_code == streamed.status_code == 413 and "MB" in streamed.json()["error"]
        assert client.post("/api/records?name=a.csv", content=b"").status_code == 400
        assert client.get("/api/state").json()["records"] == []
        assert list((tmp_path / "records").iterdir()) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"column": 0},
        {"column": "x"},
        {"dt": -1},
        {"dt": True},
        {"begin": 1.5},
        {"path": "/etc/passwd"},
        {"time_unit": 3},
    ],
)
def test_bad_readings_are_refused_in_a_sentence(client, tiny, asked):
    record = added(client, tiny)
    answer = client.post(f"/api/records/{record['id']}/look", json=asked)
    assert answer.status_code == 400 and answer.json()["error"].endswith(".")


def test_only_json_objects_are_requests(client):
    assert client.post("/api/jobs", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    for text in (b"[]", b"{", b"[" * 100_000):
        answer = client.post("/api/jobs", content=text, headers={"content-type": "application/json"})
        assert answer.status_code == 400
    big = json.dumps({"name": "x" * (1 << 20)}).encode()
    assert client.post("/api/jobs", content=big, headers={"content-type": "application/json"}).status_code == 413


@pytest.mark.parametrize(
    "request_",
    [{}, {"records": []}, {"records": [{"id": "1"}]}, {"records": [{"id": 1}] * 17}, {"records": ["x"]}],
)
def test_a_fit_needs_records(client, request_):
    assert client.post("/api/jobs", json=request_).status_code == 400


def test_bad_settings_and_unknown_records_are_refused(client, tiny):
    record = added(client, tiny)
    for settings in ({"order": 1}, {"order": 9}, {"sigma": 0}, {"loss": "x"}, {"symmetric": 1}, {"budget": 3}):
        answer = client.post("/api/jobs", json={"records": [{"id": record["id"]}], "settings": settings})
        assert answer.status_code == 400, settings
    assert client.post("/api/jobs", json={"records": [{"id": 10**30}]}).status_code == 404
    assert client.post("/api/jobs", json={"records": [{"id": 987654}]}).status_code == 404


# -- a record's way to its result ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(client):
    from conftest import tiny_record

    ids = []
    for seed in (1, 2):
        record = added(client, tiny_record(seed), f"swing {seed}.csv")
        request = {
            "records": [{"id": record["id"], "reading": {"column": 2}}],
            "settings": {"order": 2},
        }
        ids.append(client.post("/api/jobs", json=request).json()["id"])
    return [ended(client, id_) for id_ in ids]


def test_a_fit_ends_with_its_verdict_and_files(client, done):
    job = done[0]
    assert job["state"] == "done" and job["summary"]["grade"] in ("exact", "approximate", "forecast", "none"), job
    page = client.get(f"/api/jobs/{job['id']}/result").json()
    assert page["verdict"]["sentence"] and page["verdict"]["grade"] == job["summary"]["grade"]
    assert page["forecast"]["values"] and page["record"]["unit"] == "mV" and page["record"]["time_unit"] == "s"
    for kind in ("report", "model", "forecast", *page["exports"]):
        answer = client.get(f"/api/jobs/{job['id']}/files/{kind}")
        assert answer.status_code == 200 and "attachment" in answer.headers["content-disposition"], kind
        assert "swing-1" in answer.headers["content-disposition"]
    assert client.get(f"/api/jobs/{job['id']}/files/model").json()["format"] == "jetode-model"
    shown = client.get(f"/api/jobs/{job['id']}/files/report?view")
    assert "sandbox" in shown.headers["content-security-policy"] and "<html" in shown.text
    for kind in ("page.json", "%2e%2e", "export.python", "studio.sqlite"):
        assert client.get(f"/api/jobs/{job['id']}/files/{kind}").status_code == 404


def test_two_noises_of_one_system_agree(client, done):
    """Both are exact with the same terms, and no coefficient is far from its other."""
    first, second = (job["id"] for job in done)
    found, back, itself, other = (
        client.get(f"/api/jobs/{a}/compare/{b}").json()
        for a, b in ((first, second), (second, first), (first, first), (second, second))
    )
    assert [job["summary"]["grade"] for job in done] == ["exact", "exact"]
    assert found["comparable"] and found["same"] and found["far"] == back["far"] == 0
    assert itself["same"] and itself["far"] == itself["only_ours"] == 0
    assert found["shared"] == back["shared"] == 3
    assert found["shared"] + found["only_ours"] == itself["shared"]
    assert found["shared"] + found["only_other"] == other["shared"]


def test_a_forecast_from_a_new_record(client, done, tiny):
    record = added(client, tiny, "today.csv")
    reading = {"column": 2, "end": 600}
    answer = client.post(f"/api/jobs/{done[0]['id']}/forecast", json={"record": record["id"], "reading": reading})
    found = answer.json()
    assert answer.status_code == 200, found
    assert found["record"]["end"] == pytest.approx(59.9) and found["csv"].startswith("t,value")
    other = client.post(
        f"/api/jobs/{done[0]['id']}/forecast",
        json={"record": record["id"], "reading": {"dt": 3.0, "column": 3, "time": None}},
    )
    assert other.status_code in (200, 400)


def test_names_reruns_and_deletion(client, done, tiny):
    job = client.patch(f"/api/jobs/{done[1]['id']}", json={"name": "  <b>mine</b> "}).json()
    assert job["name"] == "<b>mine</b>"
    again = client.post(f"/api/jobs/{done[1]['id']}/rerun", json={}).json()
    assert again["request"] == job["request"] and again["id"] != job["id"]
    needed = job["request"]["records"][0]["id"]
    assert client.delete(f"/api/records/{needed}").status_code == 409
    client.post(f"/api/jobs/{again['id']}/stop", json={})
    assert ended(client, again["id"])["state"] in ("stopped", "done")
    assert client.delete(f"/api/jobs/{again['id']}").status_code == 200
    assert client.get(f"/api/jobs/{again['id']}").status_code == 404
    assert client.delete(f"/api/records/{needed}").status_code == 200
    assert client.post(f"/api/jobs/{job['id']}/rerun", json={}).status_code == 409


def test_bad_input_of_a_fit_is_its_message(client):
    record = added(client, "t,x\n" + "".join(f"{i},{i % 3}\n" for i in range(12)), "short.csv")
    id_ = client.post("/api/jobs", json={"records": [{"id": record["id"]}]}).json()["id"]
    job = ended(client, id_)
    assert job["state"] == "failed" and "samples" in job["message"]
