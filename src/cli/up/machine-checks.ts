/** Properties of the machine that a server depends on: disk space, durable writes, open files, clock. */
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Finding } from "../doctor/finding.ts";

const gigabyte = 1e9;
/** Below this much free space the check fails; below five times as much it warns. */
const leastDiskBytes = gigabyte;
/** Descriptors that a busy server needs: two per connection. */
const goodOpenFiles = 65_536;
const leastOpenFiles = 4_096;
/** A certificate authority rejects signed requests of a clock that is off by minutes. */
const mostSkewMs = 60_000;
/** Every write waits for the disk. */
const slowSyncMs = 50;
const syncs = 5;

/**
 * @param directory the data directory, which may not exist yet
 * @param freeBytes returns the free space of a directory; asks the system by default
 */
export function checkDisk(directory: string, freeBytes = freeBytesAt): Finding {
  const existing = findNearestDirectory(directory);
  const free = freeBytes(existing);
  const about = `disk at ${existing}`;
  const amount = `${(free / gigabyte).toFixed(1)} GB free`;
  if (free < leastDiskBytes) return { outcome: "wrong", about, message: `${amount}: free at least 1 GB` };
  if (free < 5 * leastDiskBytes) return { outcome: "warning", about, message: `${amount}: 5 GB or more is safer` };
  return { outcome: "fine", about, message: amount };
}

/** Measures how long the disk takes to make a small write durable. The server confirms no write before that. */
export function checkDurableWrites(directory: string): Finding {
  const existing = findNearestDirectory(directory);
  const about = `durable writes at ${existing}`;
  let folder: string;
  try {
    folder = mkdtempSync(join(existing, ".postern-check-"));
  } catch (error) {
    const { message } = error as Error;
    return { outcome: "wrong", about, message: `cannot write there (${message}): run with sudo, or set --data` };
  }
  try {
    const took = Array.from({ length: syncs }, (_, index) => timeOfSync(join(folder, String(index)))).sort(
      (one, other) => one - other,
    );
    const median = took[Math.floor(syncs / 2)] as number;
    const message = `${median.toFixed(1)} ms each`;
    if (median <= slowSyncMs) return { outcome: "fine", about, message };
    return { outcome: "warning", about, message: `${message}: each change through the API waits that long` };
  } catch (error) {
    const { message } = error as Error;
    return { outcome: "wrong", about, message: `a test write failed (${message}): repair the disk, or set --data` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function timeOfSync(path: string): number {
  const file = openSync(path, "w");
  try {
    const startedAt = performance.now();
    writeSync(file, Buffer.alloc(4096, 1));
    fsyncSync(file);
    return performance.now() - startedAt;
  } finally {
    closeSync(file);
  }
}

/** @param limits content of `/proc/self/limits`; read from the system by default */
export function checkOpenFiles(limits = readLimits()): Finding | undefined {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  if (hard === undefined) return undefined;
  const about = "open files";
  const most = hard === "unlimited" ? Infinity : Number(hard);
  const message = `at most ${hard}`;
  if (most < leastOpenFiles)
    return { outcome: "wrong", about, message: `${message}: raise the limit to ${goodOpenFiles}` };
  if (most < goodOpenFiles)
    return { outcome: "warning", about, message: `${message}: ${goodOpenFiles} allows 30,000 visitors` };
  return { outcome: "fine", about, message };
}

/** @param remote time of another machine, milliseconds since 1970 */
export function checkClock(remote: number, now: number): Finding {
  const about = "clock";
  const skew = now - remote;
  if (Math.abs(skew) <= mostSkewMs) return { outcome: "fine", about, message: "is right" };
  const direction = skew > 0 ? "ahead" : "behind";
  const message = `is ${Math.round(Math.abs(skew) / 1000)} s ${direction}: enable time synchronization (\`timedatectl set-ntp true\`)`;
  return { outcome: "wrong", about, message };
}

function freeBytesAt(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "latin1");
  } catch {
    return "";
  }
}

function findNearestDirectory(path: string): string {
  try {
    if (statSync(path).isDirectory()) return path;
  } catch {
    // The directory does not exist yet.
  }
  return findNearestDirectory(dirname(path));
}
