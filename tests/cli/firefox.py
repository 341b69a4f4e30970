#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Firefox draws the page: a picture that it takes of the overview has the colours of findings, text and bars, and one of
the same page whose policy forbids the script has none of them. Status 77 without Firefox."""
import http.server
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

CULPRIT, GUESTS = os.environ["CULPRIT"], os.environ["GUESTS"]
LIGHT = {"bars": ["b3261e", "d98324", "9a3fa0", "9aa3ad", "1c8fa8", "c9a100", "6f6aa8"], "links": ["0b57a4"]}


def pixels(path):
    """How often each colour is in a PNG of 8 bits a channel, as hexadecimal digits."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, body = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + size])
            assert bits == 8 and colour in (2, 6) and not interlaced, (bits, colour, interlaced)
        elif kind == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += 12 + size
    each, rows, before, counts = 3 if colour == 2 else 4, zlib.decompress(body), None, {}
    stride = width * each
    for y in range(height):
        filtered, line = rows[y * (stride + 1)], bytearray(rows[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        before = before or bytearray(stride)
        if filtered:
            for x in range(stride):
                a = line[x - each] if x >= each else 0
                b, c = before[x], before[x - each] if x >= each else 0
                if filtered == 4:
                    p = a + b - c
                    near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                else:
                    near = (a, b, (a + b) // 2)[filtered - 1]
                line[x] = (line[x] + near) & 255
        for x in range(0, stride, each):
            colour_here = bytes(line[x:x + 3])
            counts[colour_here] = counts.get(colour_here, 0) + 1
        before = line
    return {c.hex(): n for c, n in counts.items()}


class Late(http.server.BaseHTTPRequestHandler):
    """Firefox takes the picture when all is loaded, which the page is before it has unpacked its data. So the page stands
    in a frame beside an image that comes late."""

    def do_GET(self):
        time.sleep(6)
        self.send_error(404)

    def log_message(self, *words):
        pass


def picture(folder, page):
    late = http.server.HTTPServer(("127.0.0.1", 0), Late)
    threading.Thread(target=late.serve_forever, daemon=True).start()
    frame = page + ".frame.html"
    with open(frame, "w") as f:
        f.write(f'<!DOCTYPE html><body style="margin:0"><iframe src="{os.path.basename(page)}" style="border:0;width:1000px;height:900px"></iframe>'
                f'<img src="http://127.0.0.1:{late.server_port}/">')
    try:
        return picture_of(folder, frame)
    finally:
        late.shutdown()


def picture_of(folder, page):
    to = os.path.join(folder, os.path.basename(page) + ".png")
    env = dict(os.environ, HOME=folder, TMPDIR=folder, MOZ_HEADLESS="1")
    r = subprocess.run(["firefox-esr", "--headless", "--no-remote", "--profile", os.path.join(folder, "profile"), "--window-size=1000,900",
                        "--screenshot", to, "file://" + page], env=env, capture_output=True, timeout=180)
    assert os.path.exists(to), r.stderr.decode(errors="replace")[-2000:]
    return pixels(to)


def main():
    if not shutil.which("firefox-esr"):
        print("there is no firefox-esr")
        return 77
    if not GUESTS:
        print("no guest programs")
        return 77
    folder = tempfile.mkdtemp()
    try:
        os.mkdir(os.path.join(folder, "profile"))
        with open(os.path.join(folder, "profile", "user.js"), "w") as f:  # nothing but the page
            f.write('user_pref("browser.shell.checkDefaultBrowser", false);\nuser_pref("app.update.enabled", false);\n'
                    'user_pref("datareporting.policy.dataSubmissionEnabled", false);\nuser_pref("network.captive-portal-service.enabled", false);\n'
                    'user_pref("ui.systemUsesDarkTheme", 0);\n')
        store, page, bare = (os.path.join(folder, n) for n in ("run.culprit", "run.html", "bare.html"))
        subprocess.run([CULPRIT, "sim", "--max-insts", "200000", "--analyze", "all", "-o", store, "--", os.path.join(GUESTS, "phases"), "2"],
                       check=True, capture_output=True)
        made = subprocess.run([CULPRIT, "html", store, "-o", page], capture_output=True)
        if b"without its page" in made.stderr:
            print("culprit was built without its page")
            return 77
        assert not made.returncode, made.stderr
        with open(page) as f:
            text = f.read()
        assert text.count("script-src 'sha256-") == 1
        with open(bare, "w") as f:
            f.write(text.replace("script-src 'sha256-", "script-src 'sha256-x", 1))
        whole, none = picture(folder, page), picture(folder, bare)
        failed = 0
        for what, colours in LIGHT.items():
            seen, control = (sum(p.get(c, 0) for c in colours) for p in (whole, none))
            print(f"{what}: {seen} pixels, {control} of the page without its script")
            failed += not (seen >= 300 and control < seen / 20)
        print(f"{len(whole)} colours, {len(none)} of the page without its script")
        return 1 if failed or len(whole) < 2 * len(none) else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
