/** The agent's live screen on a terminal: redrawn in place, a few times a second at most. */
import { stripVTControlCharacters, styleText } from "node:util";
import type { Clock, Timer } from "../../lib/clock.ts";
import { printable, renderRequest } from "./request-line.ts";
import type { RequestLine } from "./request-line.ts";

/** Requests shown. */
const shownRequests = 10;
/** Least time between two drawings, milliseconds. */
const redrawMs = 100;

export interface ScreenState {
  readonly title: string;
  /** Label and value of each line above the requests; a value may be coloured. */
  readonly rows: readonly (readonly [label: string, value: string])[];
}

export interface Screen {
  /** Shows this state from the next drawing on. */
  show(state: ScreenState): void;
  request(line: RequestLine): void;
  /** Draws a last time and leaves the cursor below. */
  close(): void;
}

export function openScreen(output: Pick<NodeJS.WriteStream, "columns" | "rows" | "write">, clock: Clock): Screen {
  let state: ScreenState = { title: "", rows: [] };
  let requests: RequestLine[] = [];
  let total = 0;
  let height = 0;
  let due: Timer | undefined;

  const draw = (): void => {
    due = undefined;
    const columns = Math.max(40, output.columns || 80);
    const rows = Math.max(8, output.rows || 24);
    const label = Math.max(...state.rows.map(([name]) => name.length), 0) + 3;
    const head = [
      styleText("bold", state.title),
      "",
      ...state.rows.map(([name, value]) => `${styleText("dim", name.padEnd(label))}${value}`),
      `${styleText("dim", "Requests".padEnd(label))}${total}`,
      "",
    ];
    const room = Math.max(1, Math.min(shownRequests, rows - head.length - 2));
    const lines = [
      ...head,
      ...requests
        .slice(-room)
        .reverse()
        .map((line) => renderRequest(line, columns - 1)),
    ];
    const up = height > 0 ? `\u001B[${height}A` : "";
    output.write(`${up}\r${lines.map((line) => `\u001B[2K${fit(line, columns)}`).join("\n")}\n\u001B[J`);
    height = lines.length;
  };
  const soon = (): void => {
    due ??= clock.after(redrawMs, draw);
  };
  return {
    show(next) {
      state = next;
      soon();
    },
    request(line) {
      total += 1;
      requests.push({ ...line, target: printable(line.target), method: printable(line.method) });
      if (requests.length > shownRequests) requests = requests.slice(-shownRequests);
      soon();
    },
    close() {
      due?.cancel();
      draw();
    },
  };
}

/** A line that would wrap would be drawn over wrongly the next time; it is cut, without its colours. */
function fit(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, columns - 1)}…`;
}
