/**
 * Names of segments. A segment has the requests of one account in one hour that are kept for the same time. Numbers
 * increase over all segments of a node, so that their order never depends on the clock.
 */
import { join } from "node:path";

export interface SegmentName {
  readonly number: number;
  /** Hours since 1970, by the clock when the segment was begun. */
  readonly hour: number;
  /** Hours for which its requests are kept. */
  readonly keptHours: number;
  readonly keyId: string;
}

const form = /^(\d{10})-(\d{1,8})-(\d{1,4})-([0-9a-f]{1,32})\.requests$/;

export function segmentFile({ number, hour, keptHours, keyId }: SegmentName): string {
  return `${String(number).padStart(10, "0")}-${hour}-${keptHours}-${keyId}.requests`;
}

/** Returns undefined for other files. */
export function readSegmentName(file: string): SegmentName | undefined {
  const found = form.exec(file);
  if (found === null) return undefined;
  const [, number, hour, keptHours, keyId = ""] = found;
  return { number: Number(number), hour: Number(hour), keptHours: Number(keptHours), keyId };
}

/** Throws if the id cannot be the name of a folder. */
export function accountDirectory(directory: string, accountId: string): string {
  if (!/^\w{1,64}$/.test(accountId)) throw new Error("find captured requests: the account's id is malformed");
  return join(directory, accountId);
}

/** Binds a block to its account and segment. */
export function blockContext(accountId: string, { number, keyId }: SegmentName): string {
  return `${accountId}\0${number}\0${keyId}`;
}
