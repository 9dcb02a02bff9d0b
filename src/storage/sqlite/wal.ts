/**
 * Checks a write-ahead log that a crash left behind. SQLite silently keeps only the writes before the first damaged
 * frame. This module finds out whether SQLite will drop any, to inform the operator (S2). The format:
 * https://www.sqlite.org/fileformat2.html#walformat
 */
import { existsSync, readFileSync } from "node:fs";

const headerBytes = 32;
const frameHeaderBytes = 24;
const bigEndianMagic = 0x377f0683;
const littleEndianMagic = 0x377f0682;

export interface WalDamage {
  /** Bytes from the first damaged frame to the end. */
  readonly droppedBytes: number;
  /** Commits in those bytes: writes that may have been acknowledged. 0 if a crash only truncated a write. */
  readonly droppedCommits: number;
}

/** Returns undefined if the log is intact or does not exist. */
export function walDamage(file: string): WalDamage | undefined {
  return existsSync(file) ? findDamage(readFileSync(file)) : undefined;
}

function findDamage(log: Buffer): WalDamage | undefined {
  if (log.length === 0) return undefined;
  if (log.length < headerBytes) return { droppedBytes: log.length, droppedCommits: 0 };
  const magic = log.readUInt32BE(0);
  const bigEndian = magic === bigEndianMagic;
  let sum: Sum = computeChecksum(log.subarray(0, 24), [0, 0], bigEndian);
  if ((!bigEndian && magic !== littleEndianMagic) || !sumIs(sum, log, 24)) {
    return { droppedBytes: log.length, droppedCommits: commitsFrom(log, headerBytes, pageBytesOf(log)) };
  }
  const frameBytes = frameHeaderBytes + pageBytesOf(log);
  for (let at = headerBytes; at < log.length; at += frameBytes) {
    // Frames of an earlier round of the log, not yet overwritten, have other salts: the log ends before them.
    if (log.length - at >= frameHeaderBytes && !saltsMatch(log, at)) return undefined;
    if (log.length - at < frameBytes) return { droppedBytes: log.length - at, droppedCommits: 0 };
    sum = computeChecksum(log.subarray(at, at + 8), sum, bigEndian);
    sum = computeChecksum(log.subarray(at + frameHeaderBytes, at + frameBytes), sum, bigEndian);
    if (!sumIs(sum, log, at + 16)) {
      return { droppedBytes: log.length - at, droppedCommits: commitsFrom(log, at, frameBytes - frameHeaderBytes) };
    }
  }
  return undefined;
}

function pageBytesOf(log: Buffer): number {
  const bytes = log.readUInt32BE(8);
  return bytes >= 512 && bytes <= 65_536 ? bytes : 4096;
}

function saltsMatch(log: Buffer, frame: number): boolean {
  return log.readUInt32BE(frame + 8) === log.readUInt32BE(16) && log.readUInt32BE(frame + 12) === log.readUInt32BE(20);
}

function commitsFrom(log: Buffer, start: number, pageBytes: number): number {
  let commits = 0;
  for (let at = start; at + frameHeaderBytes + pageBytes <= log.length; at += frameHeaderBytes + pageBytes) {
    if (saltsMatch(log, at) && log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

type Sum = readonly [number, number];

function computeChecksum(bytes: Buffer, [first, second]: Sum, bigEndian: boolean): Sum {
  let one = first;
  let two = second;
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}

function sumIs([one, two]: Sum, log: Buffer, at: number): boolean {
  return log.readUInt32BE(at) === one && log.readUInt32BE(at + 4) === two;
}
