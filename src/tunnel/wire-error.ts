/** Text of a refusal in responses: message, blank line, code (agent-protocol, "Streams"). */
import { catalogue, Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";

/** Agents recognise only codes with this prefix. The number is the catalogue's. */
const codePrefix = "ERR_NGROK_";

const names = new Map<number, RefusalName>(
  Object.entries(catalogue).map(([name, entry]) => [entry.number, name as RefusalName]),
);

export function renderWireError(refusal: Refusal): string {
  return `${refusal.message}\n\n${wireCode(refusal.reason)}\n`;
}

/** Returns the code in the agents' form. */
export function wireCode(reason: RefusalName): string {
  return `${codePrefix}${catalogue[reason].number}`;
}

/** Returns the reason of a code, or undefined if the catalogue does not have it. */
export function parseWireCode(code: string): RefusalName | undefined {
  return names.get(Number(/^ERR_[A-Z]+_(\d{1,9})$/.exec(code)?.[1]));
}

/** Returns a `Refusal` if the catalogue has the code, else an `Error` with the whole text. */
export function parseWireError(text: string): Error {
  const parts = /^([^]*?)\s*ERR_[A-Z]+_(\d{1,9})\s*$/.exec(text);
  const reason = parts ? names.get(Number(parts[2])) : undefined;
  return parts && reason ? new Refusal(reason, parts[1] as string) : new Error(text);
}
