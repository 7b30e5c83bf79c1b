"""Chromium, spoken to over two pipes in its own protocol: pages are opened, clicked and listened to."""

import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 300  # seconds for one answer
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update"),
)


class Browser:
    """One tab. `events` holds what the browser has told: requests, faults, lines of the console."""

    def __init__(self, profile):
        (read, answers), (commands, write) = os.pipe(), os.pipe()
        # the browser reads commands from descriptor 3 and writes answers to 4
        start = f'exec 3<&{commands} 4>&{answers} && exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", start, "bash", CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._read, self._write, self._buffer, self._number, self._session = read, write, b"", 0, {}
        self.events = []

    def __enter__(self):
        tab = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for part in ("Page", "Log", "Runtime", "Network"):
            self.call(f"{part}.enable")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method, **parameters):
        """The result of a command of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            self._buffer += os.read(self._read, 1 << 16)
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, address):
        """Open a page and wait until it is there."""
        self.call("Page.navigate", url=address)
        while not self.run("document.readyState === 'complete' && location.href !== 'about:blank'"):
            time.sleep(0.05)

    def run(self, script):
        """The value of an expression, or of what it promises."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def told(self, method):
        """What the browser has told of one kind."""
        return [event["params"] for event in self.events if event.get("method") == method]
