/** Reads untrusted files within limits. */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { constants } from "node:fs";
import { utf8Text } from "../../lib/utf8.ts";
import { ImportIssue } from "../../import/report/report.ts";

/** Maximum size of a configuration file, bytes. */
const maxTextBytes = 1_048_576;

/** @throws ImportIssue for files that are missing, too large, or no regular files */
export function readSourceBytes(path: string, maxBytes: number): Buffer {
  const place = { file: path };
  let handle: number;
  try {
    // A named pipe without a writer would block.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new ImportIssue(place, `cannot read the file: ${(error as Error).message}`, { cause: error });
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

/** Returns the text of a configuration file. */
export function readSourceText(path: string): string {
  const bytes = readSourceBytes(path, maxTextBytes);
  let text: string;
  try {
    text = utf8Text(bytes);
  } catch (error) {
    throw new ImportIssue({ file: path }, (error as Error).message, { cause: error });
  }
  const zero = text.indexOf("\0");
  if (zero < 0) return text;
  const before = text.slice(0, zero).split("\n");
  const place = { file: path, line: before.length, column: (before.at(-1) ?? "").length + 1 };
  throw new ImportIssue(place, "the file contains a NUL character: it is not a text file");
}
