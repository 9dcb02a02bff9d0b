/** Lines of the stored history: a checksum, a time, an account and its tallies. Lines for the same step are added. */
import { crc32 } from "node:zlib";
import type { PackedTally } from "../../lib/tally.ts";

export interface StoredStep {
  /** Start of the step, milliseconds since 1970. */
  readonly at: number;
  readonly accountId: string;
  readonly tallies: readonly PackedTally[];
}

/** Begins with a line end, which completes a line that a crash cut off. */
export function renderLine({ at, accountId, tallies }: StoredStep): string {
  const rest = `${at} ${accountId} ${JSON.stringify(tallies)}`;
  return `\n${computeChecksum(rest)} ${rest}`;
}

/** Returns null for a damaged line, and undefined for an intact line of another account. */
export function parseLine(line: string, accountId: string | undefined): StoredStep | null | undefined {
  const [, sum, rest = "", at, owner = "", json = ""] = /^([0-9a-f]{8}) ((\d{1,16}) (\S+) (.*))$/.exec(line) ?? [];
  if (sum === undefined || computeChecksum(rest) !== sum) return null;
  if (accountId !== undefined && owner !== accountId) return undefined;
  return { at: Number(at), accountId: owner, tallies: JSON.parse(json) as PackedTally[] };
}

function computeChecksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
