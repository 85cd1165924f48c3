"""One browser for all that is looked at."""

import pytest
from playwright.sync_api import sync_playwright

from course_lib.authoring.browser import launch


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()
