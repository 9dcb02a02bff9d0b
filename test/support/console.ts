/** The console of a platform in a real browser, logged in. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openWatched } from "./pages.ts";
import type { WatchedPage } from "./pages.ts";
import type { TestPlatform } from "./platform.ts";

/** A page of its own, at the overview. @param key whose account it is; the first one unless given */
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

/** Goes to a view without loading the page anew, and waits for what it is called. @param view such as `objects/tunnel` */
export async function visitView(page: Page, platform: TestPlatform, view: string): Promise<void> {
  await page.goto(`${platform.apiUrl}/#/${view}`);
  await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
}
