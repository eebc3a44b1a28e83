# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that is driven by its own protocol, over pipes."""
import json
import os
import select
import subprocess
import time


class Chromium:
    """Used with `with`. What its pages complain about is in `complaints`."""

    def __init__(self, browser, folder):
        self.complaints, self.buffer, self.number = [], b"", 0
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()

        def places():  # where the protocol wants them
            spare = [os.dup2(theirs_in, 60), os.dup2(theirs_out, 61)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   f"--user-data-dir={folder}/profile", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=places, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)

    def receive(self, deadline, what):
        while b"\0" not in self.buffer:
            ready = select.select([self.into], [], [], max(0, deadline - time.monotonic()))[0]
            assert ready, f"chromium: waited in vain for {what}"
            data = os.read(self.into, 1 << 20)
            assert data, f"chromium: ended, awaited {what}"
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, params = message.get("method"), message.get("params")
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" or method == "Log.entryAdded":
            self.complaints.append(json.dumps(params))

    def call(self, method, seconds=120, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            message = self.receive(deadline, method)
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.note(message)

    def open(self, page):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=page.as_uri())
        self.evaluate("new Promise(done => document.readyState === 'complete' ? done(1) : "
                      "window.addEventListener('load', () => done(1)))")

    def evaluate(self, script, seconds=120):
        """The value of a script, or of what its promise holds at last."""
        result = self.call("Runtime.evaluate", seconds, expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")
