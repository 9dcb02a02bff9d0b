/** Creates archives with the same bytes for the same files: sorted, owned by root, with fixed modes and one time. */
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";

export interface ArchiveFile {
  /** With slashes; a folder ends in one. */
  readonly path: string;
  /** Empty for folders and links. */
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
  /** Permission bits. Default: 0644, 0755 for executables and folders, 0777 for links. */
  readonly mode?: number;
  /** Number of the user and of the group. Default: root. */
  readonly owner?: number;
  /** Target, if this is a symbolic link. */
  readonly linkTo?: string;
}

const block = 512;
/** Maximum length of a name and of a link in a plain header, bytes. */
const longestName = 100;

/**
 * Returns a tar archive (POSIX.1-1988).
 * @param seconds modification time of every file, since 1970
 */
export function makeTar(files: readonly ArchiveFile[], seconds: number): Buffer {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1));
  const parts = sorted.flatMap((file) => [
    encodeHeader(file, seconds),
    file.bytes,
    Buffer.alloc(-file.bytes.length & (block - 1)),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

/** Compresses with gzip, without a time or a name in the header. */
export function compressGzip(bytes: Uint8Array): Buffer {
  return gzipSync(bytes);
}

/** Like `makeTar`, compressed with gzip. */
export function tarGz(files: readonly ArchiveFile[], seconds: number): Buffer {
  return compressGzip(makeTar(files, seconds));
}

/** Adds missing parent folders. Unpackers need folders before files. */
export function withFolders(files: readonly ArchiveFile[]): readonly ArchiveFile[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let at = path.lastIndexOf("/", path.length - 2); at >= 0; at = path.lastIndexOf("/", at - 1)) {
      folders.add(path.slice(0, at + 1));
    }
  }
  for (const { path } of files) folders.delete(path);
  return [...files, ...[...folders].map((path) => ({ path, bytes: Buffer.alloc(0) }))];
}

/**
 * Compresses with xz. With a fixed size of blocks, the bytes do not depend on the number of threads. Level 3 takes four
 * times as long for 5 % fewer bytes.
 */
export function compressXz(bytes: Uint8Array): Buffer {
  const words = ["--threads=2", "--block-size=32MiB", "-1", "--stdout"];
  return execFileSync("xz", words, { input: bytes, maxBuffer: 2 ** 28 });
}

function encodeHeader(file: ArchiveFile, seconds: number): Buffer {
  const { path, bytes, isExecutable = false, owner = 0, linkTo = "" } = file;
  const isFolder = path.endsWith("/");
  const isLink = linkTo !== "";
  if (Buffer.byteLength(linkTo) > longestName) {
    throw new Error(`archive "${path}": the target of a link must be at most ${longestName} bytes`);
  }
  const made = Buffer.alloc(block);
  const octal = (value: number, at: number, digits: number): void => {
    made.write(value.toString(8).padStart(digits, "0"), at, "ascii");
  };
  const [prefix, name] = splitPath(path);
  made.write(name, 0);
  octal(file.mode ?? (isLink ? 0o777 : isFolder || isExecutable ? 0o755 : 0o644), 100, 7);
  octal(owner, 108, 7);
  octal(owner, 116, 7);
  octal(bytes.length, 124, 11);
  octal(seconds, 136, 11);
  // The checksum covers a header with blanks in its own field.
  made.write("        ", 148, "ascii");
  made.write(isFolder ? "5" : isLink ? "2" : "0", 156, "ascii");
  made.write(linkTo, 157);
  made.write("ustar\x0000", 257, "ascii");
  if (owner === 0) for (const at of [265, 297]) made.write("root", at, "ascii");
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
function splitPath(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= longestName) return ["", path];
  const at = path.indexOf("/", path.length - longestName - 1);
  if (at < 0) throw new Error(`archive "${path}": a file name must be at most ${longestName} bytes`);
  return [path.slice(0, at), path.slice(at + 1)];
}
