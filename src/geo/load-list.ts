/** Loads lists of networks from files and URLs, within bounds on bytes, networks and time. */
import { open } from "node:fs/promises";
import { openOutbound } from "../outbound/outbound.ts";
import type { Clock } from "../lib/clock.ts";
import { runInSlices } from "../lib/slices.ts";
import { InvalidList, packNetworks } from "./network-set.ts";

/** Maximum size of a list, bytes. */
export const mostListBytes = 16 * 1024 * 1024;
/** Maximum time until a list is complete, milliseconds. */
const downloadMs = 30_000;

export interface LoadedList {
  readonly networks: SharedArrayBuffer;
  /** The list itself, to keep a copy. */
  readonly text: string;
}

/** Rejects with `InvalidList`, or an error of the system. */
export async function loadList(path: string): Promise<LoadedList> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > mostListBytes) throw new InvalidList(`it has ${size} bytes, at most ${mostListBytes} are read`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return await listOf(bytes.utf8Slice(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Follows no redirects. Rejects if there is no complete response with status 200 in time, or with `InvalidList`. */
export async function downloadList(url: string, clock: Clock, signal: AbortSignal): Promise<LoadedList> {
  const outbound = openOutbound({
    purpose: "address_lists",
    clock,
    // The operator chooses the URLs.
    reach: "any",
    timeoutMs: downloadMs,
    maxAnswerBytes: mostListBytes,
    keepsConnections: false,
    signal,
  });
  const { status, text } = await outbound.send({ method: "GET", url: new URL(url) });
  if (status !== 200) throw new InvalidList(`its server answered with status ${status}, not 200`);
  return await listOf(text);
}

async function listOf(text: string): Promise<LoadedList> {
  return { networks: await runInSlices("address lists", packNetworks(text)), text };
}
