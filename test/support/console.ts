/** The console of a platform in a real browser, logged in. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openWatched } from "./pages.ts";
import type { WatchedPage } from "./pages.ts";
import type { TestPlatform } from "./platform.ts";

/**
 * Opens a new page at the overview.
 * @param key key of the account; default: the first one
 */
export async function enterConsole(
  chromium: Browser,
  platform: TestPlatform,
  options: BrowserContextOptions = {},
  key = platform.apiKey,
): Promise<WatchedPage> {
  const watched = await openWatched(chromium, platform.apiUrl, options);
  const { body } = await platform.api("POST", "/console_links", undefined, key);
  await watched.page.goto(body.url);
  await watched.page.getByRole("heading", { name: "Overview" }).waitFor();
  return watched;
}

/**
 * Goes to a view without reloading the page, and waits for its title.
 * @param view such as `objects/tunnel`
 */
export async function visitView(page: Page, platform: TestPlatform, view: string): Promise<void> {
  await page.goto(`${platform.apiUrl}/#/${view}`);
  await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
}
