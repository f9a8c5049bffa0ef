"""Pages in headless Chromium: what they show, what they run, and what they ask of the network."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """A Chromium of its own, driven by Selenium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a file at the given size and colour scheme."""
        command = self.driver.execute_cdp_cmd
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get("about:blank")
        self.console(), self.requests()  # forget the page before
        self.driver.get(path.as_uri())

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression, whatever the page's policy."""
        return self.driver.execute_script(f"return {script}")

    def console(self) -> list[str]:
        """Messages since the last call: errors, and what the content security policy refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call, without data inside the page.

        What the content security policy refused was not asked for; :meth:`console` tells of it.
        """
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = {e["params"]["requestId"]: e for e in events if e["method"] == "Network.requestWillBeSent"}
        for event in events:
            if event["method"] == "Network.loadingFailed" and event["params"].get("blockedReason") == "csp":
                del asked[event["params"]["requestId"]]
        addresses = (event["params"]["request"]["url"] for event in asked.values())
        return [url for url in addresses if not url.startswith("data:")]

    def screenshot(self, path: Path) -> None:
        """Save the whole page as a picture."""
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A browser with a new profile; the test is skipped where none can be had."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.common.exceptions import WebDriverException

    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no Chromium or no chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=chromedriver)
    try:
        driver = webdriver.Chrome(options=options, service=service)
    except WebDriverException as error:
        pytest.skip(f"Chromium does not start: {error.msg}")
    try:
        yield Browser(driver)
    finally:
        driver.quit()
