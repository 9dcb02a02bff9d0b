/**
 * A real browser: the Chromium in PATH, driven by playwright-core. If a test needs no real browser, `browser.ts` is
 * faster. If installed, Chromium's headless shell is used. It has the same engine without windows and takes a fifth of
 * the time.
 */
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { findProgram } from "./programs.ts";

/**
 * Starts the browser. Names below `localhost` resolve to this machine. A visitor is a context of the browser, with
 * `ignoreHTTPSErrors`.
 * @param home the browser's HOME, with the CAs that it trusts
 */
export function startChromium(home?: string): Promise<Browser> {
  return chromium.launch({
    executablePath: findProgram("chromium") as string,
    ...(home !== undefined && { env: { ...(process.env as Record<string, string>), HOME: home } }),
    args: ["--disable-gpu", "--disable-dev-shm-usage"],
  });
}
