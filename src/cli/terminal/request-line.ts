import { styleText } from "node:util";

/** A request as the agent observed it. */
export interface RequestLine {
  readonly method: string;
  readonly target: string;
  /** 0 if the connection ended without a response. */
  readonly status: number;
  readonly durationMs: number;
  /** Wall-clock time of its end, milliseconds since 1970. */
  readonly at: number;
}

const longestMethod = 16;

/**
 * Formats `12:03:17 GET  /path    200  3 ms` in at most `columns` columns, with a coloured status. The result contains
 * no control sequences from visitors.
 */
export function renderRequest(line: RequestLine, columns: number): string {
  const time = new Date(line.at).toTimeString().slice(0, 8);
  const left = `${time}  ${toPrintable(line.method).slice(0, longestMethod).padEnd(6)} `;
  const given = toPrintable(line.target);
  const status = line.status === 0 ? "---" : String(line.status);
  const duration = renderDuration(line.durationMs).padStart(8);
  const room = Math.max(8, columns - left.length - duration.length - 6);
  const target = given.length > room ? `${given.slice(0, room - 1)}…` : given.padEnd(Math.min(room, 48));
  return `${left}${target}  ${styleText(colourOf(line.status), status)} ${duration}`;
}

/** Removes control sequences from text that visitors sent. */
export function toPrintable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

function colourOf(status: number): "green" | "cyan" | "yellow" | "red" {
  if (status >= 500 || status === 0) return "red";
  if (status >= 400) return "yellow";
  return status >= 300 ? "cyan" : "green";
}

/** `3 ms`, `12 s`. */
export function renderDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`;
}
