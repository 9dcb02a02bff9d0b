/** Archives with the same bytes for the same files: sorted, owned by root, with fixed modes and one time. */
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";

export interface ArchiveFile {
  /** With slashes; a folder ends in one. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
  /** Permission bits other than the usual 0644, 0755 for executables and folders. */
  readonly mode?: number;
}

const block = 512;
/** Longest name that a plain header holds. */
const longestName = 100;

/** A tar archive (POSIX.1-1988). @param seconds modification time of every file, since 1970 */
export function tar(files: readonly ArchiveFile[], seconds: number): Buffer {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1));
  const parts = sorted.flatMap((file) => [
    header(file, seconds),
    file.bytes,
    Buffer.alloc(-file.bytes.length & (block - 1)),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

/** As `tar`, compressed with gzip. */
export function tarGz(files: readonly ArchiveFile[], seconds: number): Buffer {
  return gzipSync(tar(files, seconds), { level: 9 });
}

/** Compresses with xz, in one thread: the bytes must not depend on the machine. */
export function compressed(bytes: Uint8Array): Buffer {
  return execFileSync("xz", ["--threads=1", "-3", "--stdout"], { input: bytes, maxBuffer: 2 ** 28 });
}

function header({ path, bytes, isExecutable = false, mode }: ArchiveFile, seconds: number): Buffer {
  const isFolder = path.endsWith("/");
  const made = Buffer.alloc(block);
  const octal = (value: number, at: number, digits: number): void => {
    made.write(value.toString(8).padStart(digits, "0"), at, "ascii");
  };
  const [prefix, name] = split(path);
  made.write(name, 0);
  octal(mode ?? (isFolder || isExecutable ? 0o755 : 0o644), 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(bytes.length, 124, 11);
  octal(seconds, 136, 11);
  made.write("        ", 148, "ascii");
  made.write(isFolder ? "5" : "0", 156, "ascii");
  made.write("ustar\x0000", 257, "ascii");
  made.write("root", 265, "ascii");
  made.write("root", 297, "ascii");
  made.write(prefix, 345);
  octal(
    made.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  made.writeUInt8(0, 154);
  return made;
}

/** Long paths are split at a slash. */
function split(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= longestName) return ["", path];
  const at = path.indexOf("/", path.length - longestName - 1);
  if (at < 0) throw new Error(`archive "${path}": a file name must be at most ${longestName} bytes`);
  return [path.slice(0, at), path.slice(at + 1)];
}
