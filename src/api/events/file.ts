/** Delivery into files of the data directory: one line of JSON per event. */
import { mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "./event.ts";

/** A longer file is set aside as `NAME.1`, in place of the one before. */
const maxFileBytes = 64 * 1024 * 1024;
const newline = 10;

/** Resolves once the line is on disk. An unfinished line that a crash left is ended first. */
export async function appendEvent(directory: string, name: string, event: Event): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxFileBytes) await rename(path, `${path}.1`);
  const file = await open(path, "a+", 0o600);
  try {
    const { size: end } = await file.stat();
    const last = Buffer.alloc(1, newline);
    if (end > 0) await file.read(last, 0, 1, end - 1);
    await file.appendFile(`${last[0] === newline ? "" : "\n"}${event.body}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
}
