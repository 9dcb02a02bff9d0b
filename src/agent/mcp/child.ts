/** A process that speaks MCP on standard input and output: one JSON-RPC message per line (MCP, "stdio"). */
import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import type { Clock } from "../../lib/clock.ts";
import { isRpcMessage } from "./json-rpc.ts";
import type { RpcMessage } from "./json-rpc.ts";

/** Longest message of a server, bytes. */
const maxLineBytes = 8_388_608;
/** Bytes that may wait for a server that does not read its input. */
const maxUnreadBytes = 8_388_608;
/** Longest shown line of a server's standard error, characters. */
const maxSaidLength = 2_000;
/** Time for a process to end after its input has ended, and again after SIGTERM, milliseconds. */
const graceMs = 1_000;

export interface ChildOptions {
  /** Command line for the shell. Visitors' text is never part of it. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

export interface ChildEvents {
  message(message: RpcMessage): void;
  /** A line of standard error, or one of standard output that is not a message. */
  said(line: string): void;
  /** Called once. `why` completes "the MCP server …". */
  ended(why: string): void;
}

const running = new Set<McpChild>();

export class McpChild {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #clock: Clock;
  readonly #events: ChildEvents;
  readonly #over = Promise.withResolvers<void>();
  #line: Buffer[] = [];
  #lineBytes = 0;
  #isOver = false;
  #why: string | undefined;

  constructor({ command, env, clock }: ChildOptions, events: ChildEvents) {
    this.#clock = clock;
    this.#events = events;
    // In a new process group, so that the shell's children end with the shell.
    const detached = process.platform !== "win32";
    const child = spawn(command, { shell: true, detached, stdio: "pipe", env: { ...env }, windowsHide: true });
    this.#process = child;
    if (running.size === 0) process.once("exit", killAll);
    running.add(this);
    child.stdin.on("error", () => {});
    child.stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    readLines(child.stderr, events.said);
    child.once("error", (error) => this.#end(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      this.#why ??= code === null ? `was ended by ${String(signal)}` : `ended with exit code ${code}`;
      // Another process of the group may still hold the output open.
      this.#clock.after(graceMs, () => this.#end(""));
    });
    child.once("close", () => this.#end(""));
  }

  /** Returns false if the server does not read its input. */
  send(message: object): boolean {
    const { stdin } = this.#process;
    if (this.#isOver || stdin.writableLength > maxUnreadBytes) return false;
    stdin.write(`${JSON.stringify(message)}\n`);
    return true;
  }

  pause(): void {
    this.#process.stdout.pause();
  }

  resume(): void {
    this.#process.stdout.resume();
  }

  /** Resolves when the process has ended. */
  stop(): Promise<void> {
    if (!this.#isOver) {
      this.#process.stdin.end();
      this.#process.stdout.resume();
      this.#clock.after(graceMs, () => this.#kill("SIGTERM"));
      this.#clock.after(2 * graceMs, () => this.#kill("SIGKILL"));
    }
    return this.#over.promise;
  }

  /** Ends the process at once. */
  kill(): void {
    this.#kill("SIGKILL");
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (this.#isOver || pid === undefined) return;
    killGroup(pid, signal);
  }

  #read(bytes: Buffer): void {
    let start = 0;
    for (let at = bytes.indexOf(0x0a); at >= 0 && !this.#isOver; at = bytes.indexOf(0x0a, start)) {
      this.#line.push(bytes.subarray(start, at));
      start = at + 1;
      const line = Buffer.concat(this.#line).toString("utf8");
      this.#line = [];
      this.#lineBytes = 0;
      this.#take(line.trim());
    }
    const rest = bytes.subarray(start);
    if (rest.length === 0 || this.#isOver) return;
    this.#line.push(rest);
    this.#lineBytes += rest.length;
    if (this.#lineBytes <= maxLineBytes) return;
    this.#line = [];
    this.#why = `was ended, because a message of it has more than ${maxLineBytes} bytes`;
    this.kill();
  }

  #take(line: string): void {
    if (line === "") return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // Some servers print text before they begin.
      return this.#events.said(line.slice(0, maxSaidLength));
    }
    for (const one of Array.isArray(message) ? message : [message]) if (isRpcMessage(one)) this.#events.message(one);
  }

  #end(why: string): void {
    if (this.#isOver) return;
    this.kill();
    this.#isOver = true;
    running.delete(this);
    if (running.size === 0) process.off("exit", killAll);
    this.#over.resolve();
    this.#events.ended(why || (this.#why ?? "ended"));
  }
}

function killAll(): void {
  for (const child of running) child.kill();
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The group has ended.
  }
}

function readLines(stream: NodeJS.ReadableStream, said: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (bytes: Buffer) => {
    const lines = (rest + decoder.write(bytes)).split("\n");
    rest = (lines.pop() ?? "").slice(0, maxSaidLength);
    for (const line of lines) if (line.trim() !== "") said(line.trimEnd().slice(0, maxSaidLength));
  });
}
