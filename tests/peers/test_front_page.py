#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The exporter's page for people in Debian's Chromium, on a fabric whose nodes have names that are HTML: what the browser makes of the page
has no element and no attribute that came from a name, the names stand there as text, and the browser requests nothing from elsewhere."""
import html.parser
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fabric"))
import case  # noqa: E402

INTERVAL = 5  # seconds
CHROMIUM = shutil.which("chromium")
LEAF = "S-b8599f0300a00030"
# By what they stand for in cluster16.net. The first ones come from the wire, where a name has 63 bytes at most.
DESCRIPTIONS = {
    "login01 mlx5_0": "<script src=//evil.test/a></script>",
    "MF0;leaf04:SB7800/U1": "<img src=http://evil.test/b onerror=alert(1)>",
    "MF0;spine01:SB7800/U1": "</title></circle></svg><iframe src=//evil.test/c>",
}
MAPPED = {
    0xb8599f0300a00050: "&lt;b&gt; <style>@import '//evil.test/d'</style>",
    0x506b4b0300100004: "<!-- <link rel=stylesheet href=//evil.test/e>",
    0x506b4b0300100008: "\xe4\u2028<a href=javascript:alert(1)>' onmouseover='x",
}
EXPECTED = {"html", "head", "meta", "title", "link", "style", "body", "h1", "h2", "p", "a", "ul", "li", "b", "br", "table", "tbody", "tr",
            "th", "td", "svg", "path", "circle", "text"}


class Elements(html.parser.HTMLParser):
    """The elements of a page, their attributes, and the text outside of them."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes, self.targets, self.text = set(), set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets |= {value for name, value in attrs if name in ("href", "src")}

    def handle_data(self, data):
        self.text += data


class Proxy:
    """What the browser requests from elsewhere."""

    def __init__(self):
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                self.send_error(404)

            do_CONNECT = do_POST = do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def elsewhere(self):
        return [request for request in self.requests if "evil.test" in request]


class FrontPage(case.FabricCase):
    """One exporter for all tests."""

    @classmethod
    def make_net(cls):
        with open(case.CLUSTER, encoding="ascii") as file:
            text = file.read()
        for name, hostile in DESCRIPTIONS.items():
            assert f'"{name}"' in text, name
            text = text.replace(f'"{name}"', f'"{hostile}"')
        return text

    @classmethod
    def setUpClass(cls):
        case.simfabric.need("chromium")
        super().setUpClass()
        with open(cls.fabric.path("names"), "w", encoding="utf-8") as names:
            names.writelines(f'0x{guid:016x} "{name}"\n' for guid, name in MAPPED.items())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            cls.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        cls.process = cls.fabric.start([case.IBTOOL, "exporter", "--listen", cls.url.removeprefix("http://"),
                                        "--interval", str(INTERVAL), "--hcas",
                                        "--node-name-map", names.name])
        cls.wait(cls.is_ready, 30)

    @classmethod
    def is_ready(cls):
        try:
            with urllib.request.urlopen(cls.url + "/-/ready", timeout=10):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    @classmethod
    def wait(cls, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if cls.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"it did not come within {seconds} s (status {cls.process.poll()})")
            time.sleep(0.1)

    def browse(self, url, proxy, *words):
        """What Chromium prints."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                                   "--virtual-time-budget=3000", f"--user-data-dir={profile}",
                                   f"--proxy-server=127.0.0.1:{proxy.port}", *words, url],
                                  check=False, capture_output=True, encoding="utf-8", timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def proxy(self):
        proxy = Proxy()
        self.addCleanup(proxy.close)
        return proxy

    def test_names_are_text(self):
        proxy = self.proxy()
        page = Elements(self.browse(self.url + "/", proxy, "--dump-dom"))
        self.assertLessEqual(page.names, EXPECTED)
        self.assertEqual({name for name in page.attributes if name.startswith("on") or name == "style"}, set())
        self.assertEqual(page.targets, {"/metrics", "/-/healthy", "/-/ready", "data:,"})
        for name in (DESCRIPTIONS["MF0;leaf04:SB7800/U1"], DESCRIPTIONS["MF0;spine01:SB7800/U1"], MAPPED[0xb8599f0300a00050]):
            self.assertIn(name, page.text)
        self.assertEqual(proxy.elsewhere(), [])

    def test_findings_are_told_and_marked(self):
        """A cable whose both ends count a broken link stands in the list by the names of its ends, and is red in the picture."""
        peer = re.search(rf'"(H-[0-9a-f]+)"\s.*\n\[1\].*"{LEAF}"\[2\]', self.make_net())
        before = self.reading_time()
        self.wait(lambda: self.reading_time() != before, 3 * INTERVAL)  # so that the next reading sees both ends
        for node, port in ((LEAF, 2), (peer[1], 1)):
            command = f'PerformanceSet "{node}"[{port}] PortCounters.LinkDownedCounter='
            self.change(f"{command}3", f"{command}0")
        told = []
        self.wait(lambda: self.page_with_flap(told), 3 * INTERVAL)
        # A flap is told until the next reading, and a browser may start slower than that: it gets the page that was served.
        saved = self.fabric.path("flap.html")
        with open(saved, "wb") as page:
            page.write(told[0])
        proxy = self.proxy()
        made = self.browse(f"file://{saved}", proxy, "--dump-dom")
        page = Elements(made)
        self.assertRegex(page.text, r"error: link-flap")
        self.assertIn(DESCRIPTIONS["MF0;leaf04:SB7800/U1"], page.text)
        self.assertRegex(made, r'<path class="error"')
        self.assertLessEqual(page.names, EXPECTED)
        self.assertEqual(proxy.elsewhere(), [])

    def reading_time(self):
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as answer:
            return re.search(rb"^infiniband_exporter_reading_timestamp_seconds (.*)$", answer.read(), re.MULTILINE)[1]

    def page_with_flap(self, told):
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            page = answer.read()
        if b"link-flap" in page:
            told.append(page)
        return told

    def test_the_browser_would_have_requested(self):
        """What proves that the other tests look: a name that is not escaped is loaded by this browser, and seen by this proxy."""
        name = self.fabric.path("raw.html")
        with open(name, "w", encoding="ascii") as page:
            page.write("<img src=http://evil.test/b>")
        proxy = self.proxy()
        page = Elements(self.browse(f"file://{name}", proxy, "--dump-dom"))
        self.assertIn("img", page.names)
        self.assertIn("http://evil.test/b", proxy.elsewhere())

    def test_the_picture_is_drawn(self):
        picture = self.fabric.path("page.png")
        self.browse(self.url + "/", self.proxy(), f"--screenshot={picture}", "--window-size=1000,1200")
        with open(picture, "rb") as file:
            data = file.read()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(len(data), 10000)


if __name__ == "__main__":
    case.main()
