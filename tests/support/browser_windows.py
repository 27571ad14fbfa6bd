"""Windows of a browser on the report: a width, a theme, screen or paper."""

_OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; });"


def look(browser, page, width, theme="light", media="screen"):
    """Open a page at a width in a theme, wait until it is drawn, and unfold everything."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": scheme})
    browser.get(page.as_uri())
    if page.name == "report.html":
        drawn = "return document.documentElement.dataset.ready"
        WebDriverWait(browser, 60).until(
            lambda browser_window: browser_window.execute_script(drawn) == "yes"
        )
    browser.execute_script(_OPEN)
