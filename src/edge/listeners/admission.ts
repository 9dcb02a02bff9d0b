import { readFileSync } from "node:fs";
import { readAddress } from "../../lib/address.ts";
import type { ListenerLimits } from "./limits.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";

/** Counts connections by where they come from, and says when there are too many (D2). */
export interface Admission {
  /** Connections admitted and not yet gone. */
  readonly open: number;
  /** Addresses remembered. */
  readonly sources: number;
  /**
   * Why a connection from `source` is not taken, or undefined: then `leave` is owed when it closes.
   * @param source undefined for one that stands for many: it counts in the sum alone
   */
  enter(source: string | undefined): "connections" | "connections_per_source" | "openings_per_source" | undefined;
  leave(source: string | undefined): void;
}

interface Source {
  open: number;
  readonly openings: Rate;
}

/** Addresses remembered for their rate, although nothing of theirs is open. */
const maxQuietSources = 10_000;
/** File descriptors for everything else, listeners, agents, database and logs; half of them where there are few. */
const reservedDescriptors = 256;

/** @param monotonic milliseconds, see `Clock` */
export function makeAdmission(limits: ListenerLimits, monotonic: () => number): Admission {
  const sources = new Map<string, Source>();
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

/** Undefined for loopback. IPv6 counts by /64: that is what one host is given. */
function sourceKey(address: string): string | undefined {
  // in canonical form only those of IPv6 have a colon
  if (!address.includes(":")) return address.startsWith("127.") ? undefined : address;
  const words = new Uint32Array(4);
  const family = readAddress(address, words);
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (family !== 6 || (first === 0 && second === 0 && third === 0 && fourth === 1)) return undefined;
  return `${first.toString(16)}:${second.toString(16)}`;
}

/** The soft limit on open files, where the system tells. */
function descriptorLimit(): number | undefined {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return match ? Number(match[1]) : undefined;
  } catch {
    return undefined;
  }
}
