/** One line for each message. */
import type { InboxMessage } from "../../../sdk/src/index.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { styleFor } from "../terminal/guarded-output.ts";

const colours = {
  waiting: "yellow",
  blocked: "yellow",
  sending: "cyan",
  dead: "red",
  delivered: "green",
  refused: "red",
  discarded: "dim",
} as const;

export function messageLine(message: InboxMessage): string {
  const { id, state, received_at, provider, event_type, method, path, attempts, status_code, error } = message;
  const about = [provider, event_type].filter((one) => one !== "").join(" ");
  const last = error ?? (status_code === null ? "" : String(status_code));
  const tried = attempts === 0 ? "" : `${attempts} ${attempts === 1 ? "attempt" : "attempts"}${last && `, ${last}`}`;
  const parts = [received_at, id, `${method} ${path}`, about, tried].filter((part) => part !== "");
  const shown = colours[state as keyof typeof colours];
  return `${styleFor(shown, state.padEnd(9), process.stdout)} ${toVisibleLine(parts.join("  "))}\n`;
}
