/** Processes, ports and system measurements for the benchmarks. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";

const started = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of started) child.kill("SIGKILL");
});

/** Starts a child process that ends with this process. `quiet` drops its output unless it fails to start. */
export function start(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  started.add(child);
  let tail = "";
  const keep = (bytes: Buffer): void => {
    tail = (tail + bytes.toString()).slice(-4000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.on("exit", (code, signal) => {
    started.delete(child);
    if (code && !signal) process.stderr.write(`${command} ended with ${code}:\n${tail}\n`);
  });
  return child;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 5000);
  await gone;
  clearTimeout(force);
}

/** Resolves with the text after `word` in the child's output. */
export function says(child: ChildProcess, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      const at = text.indexOf(word);
      if (at >= 0 && text.endsWith("\n")) resolve(text.slice(at + word.length));
    });
    child.once("exit", (code) => reject(new Error(`${word} was not said: it ended with ${code}`)));
  });
}

/** Runs a command to its end and returns its output. */
export function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    started.add(child);
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
    child.stderr.on("data", (bytes: Buffer) => (output += bytes.toString()));
    child.on("error", reject);
    child.on("exit", (code) => {
      started.delete(child);
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(" ")} ended with ${code}: ${output}`));
    });
  });
}

export interface ThreadTimes {
  readonly cpuMs: number;
  /** Time in which the thread was ready to run but had no core. A machine with enough cores has none. */
  readonly waitedMs: number;
}

/** Returns the CPU time of the named thread so far (Linux: the files of `proc_pid_task`, schedstat). */
export function threadTimes(pid: number, name: string): ThreadTimes {
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const at = `/proc/${pid}/task/${task}`;
    if (readFileSync(`${at}/comm`, "utf8").trim() !== name) continue;
    const [cpu = 0, waited = 0] = readFileSync(`${at}/schedstat`, "utf8").split(" ").map(Number);
    return { cpuMs: cpu / 1e6, waitedMs: waited / 1e6 };
  }
  throw new Error(`read the times of the thread "${name}": process ${pid} has none`);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves when a program listens on the port of 127.0.0.1. */
export async function listening(port: number, withinMs = 60_000): Promise<void> {
  const end = performance.now() + withinMs;
  for (;;) {
    const reached = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (reached) return;
    if (performance.now() > end) throw new Error(`wait for port ${port}: nothing listens after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Returns the user and system CPU time of a process and its descendants so far, microseconds. It includes descendants
 * that have ended.
 */
export function cpuMicros(pid: number): number {
  let total = 0;
  for (const one of withDescendants(pid)) {
    const fields = afterName(one);
    for (const ticks of fields.slice(11, 15)) total += Number(ticks) * 10_000;
  }
  return total;
}

/** Returns the resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

function withDescendants(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map<number, number>();
  for (const name of all) {
    try {
      parents.set(Number(name), Number(afterName(Number(name))[1]));
    } catch {
      // The process ended during the measurement.
    }
  }
  const found = [pid];
  for (const at of found) for (const [child, parent] of parents) if (parent === at) found.push(child);
  return found.filter((one) => existsSync(`/proc/${one}/stat`));
}

/** Returns the fields of /proc/PID/stat after the name, which may contain spaces. */
function afterName(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
