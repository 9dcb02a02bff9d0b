/** Runs a fault harness in a separate process. An uncaught error or a hang there does not affect the test's process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export type HarnessLine = Readonly<Record<string, unknown>>;

export interface HarnessReport {
  readonly lines: readonly HarnessLine[];
  /** What the harness was doing when it was killed for silence; undefined if it finished. */
  readonly stalledAt: HarnessLine | undefined;
  readonly code: number | null;
  readonly stderr: string;
}

/** A harness that prints no line for this time is blocking its thread. */
const silenceMs = 60_000;

/** @param program a file of this folder */
export async function runHarness(program: string, args: readonly string[]): Promise<HarnessReport> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const lines: HarnessLine[] = [];
  let stderr = "";
  let hasStalled = false;
  child.stderr.on("data", (bytes: Buffer) => (stderr += bytes.toString()));
  const watch = setTimeout(() => {
    hasStalled = true;
    child.kill("SIGKILL");
  }, silenceMs);
  createInterface(child.stdout).on("line", (line) => {
    watch.refresh();
    lines.push(JSON.parse(line) as HarnessLine);
  });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(watch);
  return { lines, stalledAt: hasStalled ? lines.at(-1) : undefined, code, stderr };
}
