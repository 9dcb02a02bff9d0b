import { answerOf } from "../../../sdk/src/index.ts";
import type { Listing } from "../../../sdk/src/index.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { writeDocument } from "../terminal/guarded-output.ts";
import { columnsOf, renderHead, renderObject, renderRow } from "../terminal/text-table.ts";
import type { Columns } from "../terminal/text-table.ts";

type PrintedRow = Readonly<Record<string, unknown>>;

/** Prints at most `most` objects, page by page, as a table or as a JSON array with one object per line. */
export async function printList(listing: Listing<PrintedRow>, most: number, json: boolean): Promise<void> {
  let left = most;
  let columns: Columns | undefined;
  let separator = "[\n";
  for await (const { items, nextBeforeId } of listing.pages()) {
    const rows = items.slice(0, left);
    left -= rows.length;
    if (json) {
      for (const row of rows) {
        await printText(`${separator}${JSON.stringify(row)}`);
        separator = ",\n";
      }
    } else if (rows.length > 0) {
      if (!columns) await printText(`${renderHead((columns = columnsOf(rows, process.stdout.columns)))}\n`);
      const shown = columns;
      await printText(rows.map((row) => `${renderRow(row, shown)}\n`).join(""));
    }
    if (left > 0) continue;
    const isMore = nextBeforeId !== undefined || rows.length < items.length;
    const last = rows.at(-1)?.["id"];
    if (isMore && typeof last === "string") process.stderr.write(`More objects follow: --before-id ${last}\n`);
    break;
  }
  if (json) await printText(separator === "[\n" ? "[]\n" : "\n]\n");
  else if (!columns) process.stderr.write("No objects.\n");
}

/** @param what description of the action, for a response without a body */
export function printAnswer(what: string, answer: unknown, json: boolean): void {
  if (typeof answer === "object" && answer !== null) {
    // Responses may contain any text, and none of it may control the terminal.
    for (const text of answerOf(answer).warnings) {
      process.stderr.write(`warning: ${toVisibleLine(text)}\n`);
    }
  }
  if (typeof answer === "string") writeDocument(process.stdout, answer);
  else if (answer === undefined) process.stdout.write(json ? "" : `${what}: done\n`);
  else if (json) process.stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
  else process.stdout.write(`${renderObject(answer as PrintedRow)}\n`);
}

/** Resolves when the reader can accept more, or immediately if it has closed. */
async function printText(text: string): Promise<void> {
  const { stdout } = process;
  if (stdout.destroyed || stdout.write(text)) return;
  await new Promise<void>((resolve) => {
    stdout.once("drain", resolve);
    stdout.once("close", resolve);
  });
}
