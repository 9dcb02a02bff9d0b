/**
 * A real browser: the Chromium on the PATH, driven by playwright-core. `browser.ts` is quicker where none is needed.
 * Its headless shell, where it is installed, is the same engine without windows: it takes a fifth of the time.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const directories = (process.env["PATH"] ?? "").split(delimiter);
const binary = names
  .flatMap((name) => directories.map((directory) => join(directory, name)))
  .find((file) => isExecutable(file));

/**
 * Undefined where it can run; otherwise why it cannot, which a test shows as the reason of being skipped. Where
 * CI is set it has to be there.
 */
export const chromiumAbsent: string | undefined = binary === undefined ? "Chromium is not installed" : undefined;
if (chromiumAbsent !== undefined && process.env["CI"])
  throw new Error(`${chromiumAbsent}: apt-get install chromium-headless-shell`);

/** Names below `localhost` lead to this machine. A visitor is a context of it, with `ignoreHTTPSErrors`. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: binary as string, args: ["--disable-gpu", "--disable-dev-shm-usage"] });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
