/** One line for each request. */
import type { Page, Request } from "../../../sdk/src/index.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { styleFor } from "../terminal/guarded-output.ts";
import { renderDuration } from "../terminal/request-line.ts";

const colours = { forwarded: "green", answered: "cyan", denied: "yellow", failed: "red" } as const;

export function requestLine(request: Request): string {
  const { id, outcome, ended_at, method, host, path, status_code, source_ip, duration_ms, steps } = request;
  const last = steps.findLast((step) => step.outcome === "denied");
  const parts = [
    ended_at,
    id,
    status_code === 0 ? "---" : String(status_code),
    `${method} ${host}${path}`,
    source_ip,
    renderDuration(duration_ms),
    ...(last ? [`${last.by}: ${last.reason}`] : []),
  ];
  return `${styleFor(colours[outcome], outcome.padEnd(9), process.stdout)} ${toVisibleLine(parts.join("  "))}\n`;
}

const reasons: Readonly<Record<string, string>> = {
  time: "The search took too long",
  busy: "Too many searches are running; try again later",
  failed: "A node could not read its captured requests",
  silent: "An edge did not answer",
};

/** Returns a warning for people if the page lacks requests; "" if it does not. */
export function warnIncomplete({ incomplete }: Pick<Page<Request>, "incomplete">): string {
  if (!incomplete) return "";
  return `postern: the list is incomplete: ${toVisibleLine(reasons[incomplete.reason] ?? incomplete.reason)}.\n`;
}
