/** The text in which answers carry a refusal: message, blank line, code (agent-protocol, "Streams"). */
import { catalogue, Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";

/** Agents read the code only under this prefix; the number is the catalogue's. */
const codePrefix = "ERR_NGROK_";

const names = new Map<number, RefusalName>(
  Object.entries(catalogue).map(([name, entry]) => [entry.number, name as RefusalName]),
);

export function renderWireError(refusal: Refusal): string {
  return `${refusal.message}\n\n${wireCode(refusal.reason)}\n`;
}

/** The code as agents read it. */
export function wireCode(reason: RefusalName): string {
  return `${codePrefix}${catalogue[reason].number}`;
}

/** What a code alone says; undefined for one that the catalogue does not have. */
export function parseWireCode(code: string): RefusalName | undefined {
  return names.get(Number(/^ERR_[A-Z]+_(\d{1,9})$/.exec(code)?.[1]));
}

/** A `Refusal` where the catalogue has the code, else an `Error` with the whole text. */
export function parseWireError(text: string): Error {
  const parts = /^([^]*?)\s*ERR_[A-Z]+_(\d{1,9})\s*$/.exec(text);
  const reason = parts ? names.get(Number(parts[2])) : undefined;
  return parts && reason ? new Refusal(reason, parts[1] as string) : new Error(text);
}
