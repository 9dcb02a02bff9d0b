/** Writes events to files of the data directory: one line of JSON per event. */
import { mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TargetKind } from "./opened-target.ts";

/** Maximum size. A larger file is renamed to `NAME.1` and replaces the previous one. */
const maxFileBytes = 64 * 1024 * 1024;
const limits = { events: 500, bytes: 16 * 1024 * 1024, perEvent: 1, eventBytes: 8 * 1024 * 1024 } as const;
const newline = 10;

export const file: TargetKind<"file"> = {
  open(value, { directory }) {
    const path = join(directory, value.name);
    return {
      limits,
      async deliver(events) {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await appendLines(path, events.map(({ body }) => `${body}\n`).join(""));
        return undefined;
      },
      close() {},
    };
  },
};

/** Resolves once the lines are on disk. First completes an unfinished line that a crash left. */
async function appendLines(path: string, lines: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  const size = found?.size ?? 0;
  if (size > maxFileBytes) await rename(path, `${path}.1`);
  const opened = await open(path, "a+", 0o600);
  try {
    const { size: end } = await opened.stat();
    const last = Buffer.alloc(1, newline);
    if (end > 0) await opened.read(last, 0, 1, end - 1);
    await opened.appendFile(`${last[0] === newline ? "" : "\n"}${lines}`);
    await opened.datasync();
  } finally {
    await opened.close();
  }
}
