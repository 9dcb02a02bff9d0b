import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./system.ts";

export interface H2loadResult {
  readonly requests: number;
  readonly perSecond: number;
}

interface Load {
  readonly connections: number;
  /** Number of concurrent streams per connection. */
  readonly streams: number;
  /** Duration in seconds, or total number of requests. */
  readonly seconds?: number;
  readonly requests?: number;
  /** Number of bytes that each request sends. */
  readonly upload?: number;
  /** Port to connect to instead of the URL's. */
  readonly port?: number;
  /** Whether to use HTTP/1.1 instead of HTTP/2. */
  readonly isHttp1?: boolean;
}

/** Runs h2load against `url`, whose host is 127.0.0.1. Throws unless every response is 2xx. */
export async function h2load(url: string, load: Load): Promise<H2loadResult> {
  const args = ["-t1", "-c", String(load.connections), "-m", String(load.streams)];
  if (load.seconds !== undefined) args.push("-D", String(load.seconds));
  if (load.requests !== undefined) args.push("-n", String(load.requests));
  if (load.upload !== undefined) args.push("-d", bodyOf(load.upload));
  if (load.isHttp1 === true) args.push("--h1");
  const { port = new URL(url).port } = load;
  // A window that never limits: the benchmark compares the contenders, not the client's defaults.
  const output = await run("h2load", [...args, "-w", "26", "-W", "26", `--connect-to=127.0.0.1:${port}`, url]);
  const counts = /requests: (\d+) total, .* (\d+) succeeded, (\d+) failed, (\d+) errored/.exec(output);
  const [done, failed, errored] = [2, 3, 4].map((at) => Number(counts?.[at]));
  if (failed !== 0 || errored !== 0 || !/status codes: \d+ 2xx, 0 3xx, 0 4xx, 0 5xx/.test(output)) {
    throw new Error(`h2load ${url}: ${output}`);
  }
  return { requests: done as number, perSecond: Number(/, ([\d.]+) req\/s/.exec(output)?.[1]) };
}

function bodyOf(bytes: number): string {
  const file = join(mkdtempSync(join(tmpdir(), "postern-h2load-")), "body");
  writeFileSync(file, Buffer.alloc(bytes, "b"));
  return file;
}
