/**
 * A real browser: the Chromium on the PATH, driven by playwright-core. `browser.ts` is quicker where none is needed.
 * Its headless shell, where it is installed, is the same engine without windows: it takes a fifth of the time.
 */
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { findProgram } from "./programs.ts";

/** Names below `localhost` lead to this machine. A visitor is a context of it, with `ignoreHTTPSErrors`. @param home its HOME, with the CAs it trusts */
export function startChromium(home?: string): Promise<Browser> {
  return chromium.launch({
    executablePath: findProgram("chromium") as string,
    ...(home !== undefined && { env: { ...(process.env as Record<string, string>), HOME: home } }),
    args: ["--disable-gpu", "--disable-dev-shm-usage"],
  });
}
