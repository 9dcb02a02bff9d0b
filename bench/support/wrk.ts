import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./system.ts";

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * glibc does not resolve `*.localhost` without a resolver that supports it. This library gives wrk a separate hosts
 * file.
 */
const wrapper = "libnss_wrapper.so";

/** Runs wrk against `url`. Names under `.localhost` resolve to 127.0.0.1. */
export async function wrk(
  url: string,
  options: {
    readonly connections: number;
    readonly seconds: number;
    readonly headers?: readonly string[];
    readonly script?: string;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<WrkResult> {
  const directory = mkdtempSync(join(tmpdir(), "postern-wrk-"));
  const hosts = join(directory, "hosts");
  writeFileSync(hosts, `127.0.0.1 localhost\n127.0.0.1 ${new URL(url).hostname}\n`);
  const args = ["-t1", `-c${options.connections}`, `-d${options.seconds}s`, "--latency", "--timeout", "30s"];
  for (const header of options.headers ?? []) args.push("-H", header);
  if (options.script) args.push("-s", options.script);
  const output = await run("wrk", [...args, url], {
    ...options.env,
    LD_PRELOAD: wrapper,
    NSS_WRAPPER_HOSTS: hosts,
  });
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(output);
  const broken = /Socket errors: (.*)/.exec(output);
  if (failed || broken) throw new Error(`wrk ${url}: ${failed?.[0] ?? broken?.[0]}`);
  return {
    requests: Number(/(\d+) requests in/.exec(output)?.[1]),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    p50Ms: milliseconds(/50%\s+([\d.]+\w+)/.exec(output)?.[1]),
    p99Ms: milliseconds(/99%\s+([\d.]+\w+)/.exec(output)?.[1]),
  };
}

function milliseconds(text: string | undefined): number {
  const match = /^([\d.]+)(us|ms|s)$/.exec(text ?? "");
  if (!match) return Number.NaN;
  return Number(match[1]) * (match[2] === "us" ? 0.001 : match[2] === "s" ? 1000 : 1);
}
