# SPDX-License-Identifier: MIT
"""Drives Chromium through its debugging pipe, with nothing but Python: one browser, one page."""
import json
import os
import select
import shutil
import subprocess
import time


class Failed(Exception):
    pass


class Browser:
    def __init__(self, folder):
        """folder: for everything that the browser writes."""
        read_in, self._write = os.pipe()
        self._read, write_out = os.pipe()
        env = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder, TMPDIR=folder)

        def fds():
            first, second = os.dup(read_in), os.dup(write_out)  # neither may be 3 or 4 when they are put there
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--user-data-dir=" + os.path.join(folder, "browser"), "--remote-debugging-pipe", "about:blank"],
            preexec_fn=fds, close_fds=False, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_in)
        os.close(write_out)
        self._number, self._buffer, self._session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._write)
        os.close(self._read)

    def _message(self, until):
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise Failed("the browser does not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise Failed("the browser ended")
            self._buffer += got
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            answer = self._message(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def run(self, script):
        """The value of a script in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition, what):
        """Until a script is true."""
        until = time.monotonic() + 60
        while not self.run(condition):
            if time.monotonic() > until:
                raise Failed("waited in vain: " + what)
            time.sleep(0.02)

    def open(self, path, fragment=""):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"file://{path}#{fragment}")
        self.wait("document.body?.dataset.ready === 'yes'", f"{path} does not become ready")

    def go(self, fragment):
        """Another state of the page that is open."""
        self.run(f"location.hash = {json.dumps(fragment)}")
        self.wait(f"location.hash === '#' + {json.dumps(fragment)}", "the fragment")
        self.settle()

    def settle(self):
        self.run("new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)))")

    def click(self, selector):
        """A click of the mouse in the middle of an element."""
        at = self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
            e.scrollIntoView({{ block: "center", inline: "center" }}); const b = e.getClientRects()[0];
            return [b.x + Math.min(b.width / 2, 20), b.y + b.height / 2]; }})()""")
        if at is None:
            raise Failed("there is no " + selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
        self.settle()

    def key(self, name, text=""):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text or ("\r" if name == "Enter" else name if len(name) == 1 else ""),
                  windowsVirtualKeyCode={"Enter": 13, "Tab": 9}.get(name, 0))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.settle()

    def tab_to(self, condition):
        """Presses Tab until a script about document.activeElement is true."""
        for _ in range(400):
            self.key("Tab")
            if self.run(f"(() => {{ const e = document.activeElement; return !!({condition}); }})()"):
                return
        raise Failed("Tab does not reach " + condition)

    def width(self, pixels, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=pixels, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def cells(self):
        """Attributes of everything that has a value."""
        return self.run("[...document.querySelectorAll('[data-value],[data-method]')].map((e) => ({ ...e.dataset }))")
