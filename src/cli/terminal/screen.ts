/** The agent's live screen on a terminal. It is redrawn in place, a few times a second at most. */
import { styleText } from "node:util";
import type { Clock, Timer } from "../../lib/clock.ts";
import { renderRequest } from "./request-line.ts";
import type { RequestLine } from "./request-line.ts";
import { fitLine } from "./text-width.ts";

/** Maximum number of shown requests. */
const shownRequests = 10;
/** Minimum time between two drawings, milliseconds. */
const redrawMs = 200;
/** Interval at which changing numbers are read, milliseconds. */
const lookMs = 1_000;

export interface ScreenState {
  readonly title: string;
  /** Label and value of each line above the requests; a value may be coloured. */
  readonly rows: readonly (readonly [label: string, value: string])[];
}

export interface Screen {
  /** Call when the state has changed. */
  changed(): void;
  request(line: RequestLine): void;
  /** Call when another program may have written to the terminal. */
  redraw(): void;
  /** Draws a last time and leaves the cursor below the screen. */
  close(): void;
}

export interface ScreenOutput extends Pick<NodeJS.WriteStream, "columns" | "rows" | "on" | "off"> {
  /** Writes directly, without the output guard. */
  write(text: string): unknown;
}

/** @param state returns the values to show; called for each drawing */
export function openScreen(output: ScreenOutput, clock: Clock, state: () => ScreenState): Screen {
  let requests: RequestLine[] = [];
  let height = 0;
  /** Columns and rows of the last drawing. */
  let size = "";
  let due: Timer | undefined;
  /** Text that the screen shows. */
  let drawn = "";

  const draw = (): void => {
    due = undefined;
    const columns = output.columns || 80;
    const rows = output.rows || 24;
    const { title, rows: shown } = state();
    const label = Math.max(...shown.map(([name]) => name.length), 0) + 3;
    const head = [
      styleText("bold", title),
      "",
      ...shown.map(([name, value]) => `${styleText("dim", name.padEnd(label))}${value}`),
      "",
    ];
    const recent = requests.toReversed().map((line) => renderRequest(line, columns - 1));
    // Leave one row for the cursor.
    const lines = [...head, ...recent].slice(0, Math.max(1, rows - 1));
    const text = lines.map((line) => `\u001B[2K${fitLine(line, columns - 1)}`).join("\n");
    // The connection to the terminal may be slow, so text that it already shows is not sent again.
    if (text === drawn && size === `${columns} ${rows}`) return;
    drawn = text;
    output.write(`${start(columns, rows)}${text}\n\u001B[J`);
    height = lines.length;
  };
  /**
   * Moves the cursor to the start of the previous drawing. After a change of size, only the terminal knows that place.
   */
  const start = (columns: number, rows: number): string => {
    const before = size;
    size = `${columns} ${rows}`;
    if (height === 0) return "\r";
    return before === size ? `\u001B[${height}A\r` : "\u001B[H\u001B[2J";
  };
  const soon = (): void => {
    due ??= clock.after(redrawMs, draw);
  };
  const looking = clock.every(lookMs, soon);
  output.on("resize", soon);
  return {
    changed: soon,
    redraw() {
      size = "";
      soon();
    },
    request(line) {
      requests.push(line);
      if (requests.length > shownRequests) requests = requests.slice(-shownRequests);
      soon();
    },
    close() {
      output.off("resize", soon);
      looking.cancel();
      due?.cancel();
      draw();
    },
  };
}
