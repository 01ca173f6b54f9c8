"""A few commands of the W3C WebDriver protocol over chromedriver, enough to do what a reader of a page does."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

ESCAPE, ENTER, TAB, ARROW_DOWN, ARROW_RIGHT = "\ue00c", "\ue007", "\ue004", "\ue015", "\ue014"

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
_LIMIT_S = 20.0


def find_browser() -> tuple[str, str] | None:
    """Return the paths of (browser, driver), or None where one is missing."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """A headless browser with one window."""

    def __init__(self, browser: str, driver: str, profile: Path) -> None:
        self._driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._url = f"http://127.0.0.1:{self._port()}"
        options = {"binary": browser, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._url += f"/session/{session['sessionId']}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self._send("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.communicate()

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if "successfully on port " in line:
                return int(line.rsplit("on port ", 1)[1].rstrip(".\n"))
        msg = "chromedriver ended before it said its port"
        raise RuntimeError(msg)

    def _send(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data, {"Content-Type": "application/json"}, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a file, and wait until its script is done."""
        self._send("POST", "/url", {"url": "about:blank"})
        self._send("POST", "/url", {"url": page.as_uri() + fragment})
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str, *args: object) -> Any:
        """Run the body of a JavaScript function; return what it returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, script: str, *args: object) -> Any:
        """Run a script again and again until it returns something true; fail after 20 s."""
        end = time.monotonic() + _LIMIT_S
        while not (value := self.run(script, *args)):
            assert time.monotonic() < end, f"never true: {script}"
        return value

    def find(self, selector: str) -> str:
        """Return the id of the first element that a CSS selector finds."""
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        return str(next(iter(found.values())))

    def click(self, selector: str) -> None:
        """Click an element as a mouse does: what covers it is in the way."""
        self._send("POST", f"/element/{self.find(selector)}/click", {})

    def press(self, keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, selector: str) -> str:
        """Return what can be read in an element."""
        return str(self._send("GET", f"/element/{self.find(selector)}/text"))

    def size(self, width: int, height: int) -> None:
        """Give the page this many pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """Let the system prefer the ``dark`` or the ``light`` scheme."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.devtools("Emulation.setEmulatedMedia", {"features": [feature]})

    def devtools(self, command: str, params: dict[str, object]) -> Any:
        """Send a command of the browser's own protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def log(self) -> list[str]:
        """Return what the console got since the last call: errors of scripts, breaches of the policy."""
        entries = self._send("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def screenshot(self, path: Path) -> None:
        """Write what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self._send("GET", "/screenshot")))
