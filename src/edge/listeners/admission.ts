import { readFileSync } from "node:fs";
import { readAddress } from "../../lib/address.ts";
import type { ListenerLimits } from "./listener-limits.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";

/** Counts connections by source address and limits them (D2). */
export interface Admission {
  /** Number of admitted connections that are still open. */
  readonly open: number;
  /** Number of remembered addresses. */
  readonly sources: number;
  /**
   * Returns why a connection from `source` is refused, or undefined. If it is admitted, the caller must call `leave`
   * when it closes.
   * @param source undefined for a forwarder of many clients, which only counts in the total
   */
  enter(source: string | undefined): "connections" | "connections_per_source" | "openings_per_source" | undefined;
  leave(source: string | undefined): void;
}

interface SourceLoad {
  open: number;
  readonly openings: Rate;
}

/** Maximum number of addresses without open connections that are remembered for their rate. */
const maxQuietSources = 10_000;
/**
 * File descriptors reserved for listeners, agents, database and logs. If few are available, half of them are reserved.
 */
const reservedDescriptors = 256;

/** @param monotonic milliseconds, see `Clock` */
export function makeAdmission(limits: ListenerLimits, monotonic: () => number): Admission {
  const sources = new Map<string, SourceLoad>();
  const descriptors = descriptorLimit() ?? Infinity;
  const forAll = Math.max(descriptors - reservedDescriptors, descriptors / 2);
  const most = Math.min(limits.connections, forAll / limits.edges);
  let open = 0;
  let quiet = 0;

  const forgetQuiet = (): void => {
    for (const [key, source] of sources) {
      if (source.open === 0) sources.delete(key);
    }
    quiet = 0;
  };
  return {
    get open() {
      return open;
    },
    get sources() {
      return sources.size;
    },
    enter(address) {
      if (open >= most) return "connections";
      const key = address === undefined ? undefined : sourceKey(address);
      if (key !== undefined) {
        let source = sources.get(key);
        if (!source) {
          const openings = makeRate(limits.openingsPerSecond, limits.openingsPerSecond * 10, monotonic);
          sources.set(key, (source = { open: 0, openings }));
        } else if (source.open === 0) {
          quiet -= 1;
        }
        const reason =
          source.open >= limits.connectionsPerSource
            ? "connections_per_source"
            : source.openings.take()
              ? undefined
              : "openings_per_source";
        if (reason !== undefined) {
          if (source.open === 0) quiet += 1;
          return reason;
        }
        source.open += 1;
      }
      open += 1;
      return undefined;
    },
    leave(address) {
      open -= 1;
      const source = sources.get((address !== undefined && sourceKey(address)) || "");
      if (!source) return;
      source.open -= 1;
      if (source.open > 0) return;
      quiet += 1;
      if (quiet > maxQuietSources) forgetQuiet();
    },
  };
}

/** Returns undefined for loopback. IPv6 counts by /64, the network of one host. */
function sourceKey(address: string): string | undefined {
  // In canonical form only IPv6 addresses have a colon.
  if (!address.includes(":")) return address.startsWith("127.") ? undefined : address;
  const words = new Uint32Array(4);
  const family = readAddress(address, words);
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (family !== 6 || (first === 0 && second === 0 && third === 0 && fourth === 1)) return undefined;
  return `${first.toString(16)}:${second.toString(16)}`;
}

/** Returns the soft limit on open files, if the system reports one. */
function descriptorLimit(): number | undefined {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return match ? Number(match[1]) : undefined;
  } catch {
    return undefined;
  }
}
