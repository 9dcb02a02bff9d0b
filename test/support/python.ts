/** Runs a Python script that reads one JSON line and prints one JSON line for each of its cases. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

interface PythonRun {
  readonly python: string;
  /** Path of the script. */
  readonly script: string;
  readonly given: object;
  /** Called when the script prints the case "restart". The script continues when the promise resolves. */
  restart(): Promise<void>;
}

/** Returns what the script printed for each case. Rejects with the script's error output if the script fails. */
export async function runPython({ python, script, given, restart }: PythonRun): Promise<ReadonlyMap<string, unknown>> {
  // The machine's proxy settings would bypass the edge.
  const env = { PATH: process.env["PATH"], NO_PROXY: "*", PYTHONDONTWRITEBYTECODE: "1" };
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "pipe"], env, timeout: 180_000 });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  const closed = once(child, "close");
  child.stdin.write(`${JSON.stringify(given)}\n`);
  const results = new Map<string, unknown>();
  for await (const line of createInterface({ input: child.stdout })) {
    const { case: name, value } = JSON.parse(line) as { readonly case: string; readonly value: unknown };
    if (name === "restart") void restart().then(() => child.stdin.write("\n"));
    else results.set(name, value);
  }
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new Error(`${script} exited with ${code}: ${Buffer.concat(errors).toString()}`);
  return results;
}
