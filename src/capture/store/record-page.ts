/** A page of captured requests in the order of their ids, newest first, like the list of recent requests. */
import { timeOfId } from "../../lib/traffic-ids.ts";
import type { CapturedRequest } from "../captured-request.ts";
import type { CaptureQuery } from "../query.ts";
import { readRecords, SearchOver } from "./read-records.ts";
import type { CapturePlaces } from "./read-records.ts";

export interface RecordPage {
  readonly records: readonly CapturedRequest[];
  /** Whether older ones follow. */
  readonly more: boolean;
  /** Set if the search took too long: everything from this time on was searched, milliseconds since 1970. */
  readonly searchedTo?: number;
}

/** @param query.beforeId only requests whose id sorts before this one */
export async function readPage(
  places: CapturePlaces,
  { limit, beforeId, ...query }: CaptureQuery & { readonly limit: number; readonly beforeId?: string | undefined },
  isOver?: () => boolean,
): Promise<RecordPage> {
  const before = beforeId === undefined ? undefined : timeOfId(beforeId);
  const until = Math.min(query.until ?? Infinity, before === undefined ? Infinity : before + 1);
  const bounded = { ...query, ...(until !== Infinity && { until }) };
  const found: CapturedRequest[] = [];
  let lastMs = -Infinity;
  let searchedTo: number | undefined;
  try {
    for await (const record of readRecords(places, bounded, { newestFirst: true, ...(isOver && { isOver }) })) {
      if (beforeId !== undefined && record.id >= beforeId) continue;
      const ms = msOf(record);
      // Within a millisecond, ids are in another order than the records.
      if (found.length > limit && ms < lastMs) break;
      lastMs = ms;
      found.push(record);
    }
  } catch (error) {
    if (!(error instanceof SearchOver)) throw error;
    // The next page begins with whole milliseconds, because its cursor is an id.
    searchedTo = Math.floor(error.at / 1000) + 1;
  }
  found.sort((one, other) => (one.id < other.id ? 1 : -1));
  if (searchedTo !== undefined && found.length <= limit) {
    const bound = searchedTo;
    return { records: found.filter((record) => msOf(record) >= bound), more: true, searchedTo };
  }
  return { records: found.slice(0, limit), more: found.length > limit };
}

function msOf({ receivedAt }: CapturedRequest): number {
  return Math.floor(receivedAt / 1000);
}
