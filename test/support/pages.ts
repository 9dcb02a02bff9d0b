/** The built pages in a real browser. A violation of the page's policy or an error of a script is a fault. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { eventually } from "./eventually.ts";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeFault {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

interface Axe {
  run(within: string, options: object): Promise<{ readonly violations: readonly unknown[] }>;
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Throws if the policy was violated, a script failed, or the page requested something outside `origin`. */
  assertQuiet(): void;
}

/**
 * Opens a new page, watched from its beginning.
 * @param origin of the page; it may request nothing else
 */
export async function openWatched(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("console", (message) => {
    if (/Content.Security.Policy|TrustedScript|TrustedHTML/i.test(message.text())) faults.push(message.text());
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(?:blob|data):/.test(request.url())) faults.push(request.url());
  });
  return { page, context, assertQuiet: () => assert.deepEqual(faults, []) };
}

/** Fails if the page, or the part that scrolls in it, is wider than the window. */
export async function assertFits(page: Page, what: string): Promise<void> {
  const beyond = await page.evaluate(`[document.documentElement, document.querySelector(".page")]
    .map((one) => (one ? one.scrollWidth - one.clientWidth : 0))`);
  assert.deepEqual(beyond, [0, 0], what);
}

/**
 * Fails if axe finds a serious or worse problem in the current colours.
 * @param within the part to check; default: all
 */
export async function assertAccessible(page: Page, what: string, within?: string): Promise<void> {
  await eventually(
    () => page.evaluate(`document.getAnimations().every((one) => one.playState !== "running")`),
    Boolean,
  );
  // The debugger injects axe, because the page's policy does not apply to it.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  const found = await page.evaluate(async (place) => {
    const { run } = (globalThis as unknown as { axe: Axe }).axe;
    return (await run(place ?? "html", { resultTypes: ["violations"] })).violations;
  }, within);
  const serious = (found as AxeFault[]).filter(({ impact }) => ["serious", "critical"].includes(impact));
  const shown = serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  assert.deepEqual(shown, [], what);
}
