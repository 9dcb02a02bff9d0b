/** Reads files of strangers, within bounds. */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { constants } from "node:fs";
import { ImportIssue } from "../../import/report/report.ts";

/** @throws ImportIssue for files that are missing, too large, or no regular files */
export function readSourceBytes(path: string, maxBytes: number): Buffer {
  const place = { file: path };
  let handle: number;
  try {
    // A named pipe without a writer would block.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new ImportIssue(place, `cannot read the file: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new ImportIssue(place, "this is not a regular file");
    if (stat.size > maxBytes) throw new ImportIssue(place, `the file is larger than ${maxBytes} bytes`);
    return readFileSync(handle);
  } finally {
    closeSync(handle);
  }
}
