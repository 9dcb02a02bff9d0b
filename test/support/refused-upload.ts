/** Uploads by curl that the server rejects before they end. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RefusedUploads {
  readonly url: string;
  readonly byteCount: number;
  /** Additional arguments of curl. */
  readonly options?: readonly string[];
}

/**
 * Returns the output of curl for each of `count` uploads, one after another: the body, the status, and curl's exit
 * code.
 */
export async function uploadRefused(
  count: number,
  { url, byteCount, options = [] }: RefusedUploads,
): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "postern-upload-"));
  const file = join(directory, "body");
  await writeFile(file, Buffer.alloc(byteCount, "x"));
  const printed: string[] = [];
  try {
    const shown = ["-w", " %{http_code} %{exitcode}", "--data-binary", `@${file}`, "-H", "Expect:"];
    for (let round = 0; round < count; round += 1) printed.push(await curl([...shown, ...options, url]));
  } finally {
    await rm(directory, { recursive: true });
  }
  return printed;
}

/** Returns the output of curl, even if curl fails. */
export function curl(options: readonly string[]): Promise<string> {
  const all = ["--silent", "--insecure", "--max-time", "20", ...options];
  return new Promise((resolve) => execFile("curl", all, (_error, stdout) => resolve(stdout)));
}

/** Sends up to 128 MiB as fast as possible. Resolves with the number of MiB sent before the connection closed. */
export async function sendUntilClosed(socket: Socket): Promise<number> {
  const mebibyte = Buffer.alloc(1024 * 1024, "x");
  let goOn = (): void => {};
  socket.on("drain", () => goOn());
  socket.on("close", () => goOn());
  let sent = 0;
  for (; sent < 128 && !socket.closed; sent += 1) {
    const isTaken = new Promise<void>((resolve) => (goOn = resolve));
    if (!socket.write(mebibyte)) await isTaken;
  }
  return sent;
}
