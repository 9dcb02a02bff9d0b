/** Lines for the user of one SSH connection: in the session's terminal, or as JSON. */
import { toVisibleLine } from "../../lib/visible-text.ts";
import type { WatchedRequest } from "../../agent/request-watch.ts";
import type { Channel } from "../channels/channel.ts";

/** Maximum number of lines that wait for a session channel. */
const maxHeldLines = 50;
/** Above this number of unread bytes, requests are not printed. */
const maxUnreadBytes = 32 * 1024;
const maxTarget = 200;

export class Terminal {
  json = false;
  /** Whether the client has a terminal, which needs CR LF. */
  isTty = false;
  #channel: Channel | undefined;
  #held: (() => void)[] = [];

  get channel(): Channel | undefined {
    return this.#channel;
  }

  /** Prints to the channel from now on, after what waits. */
  open(channel: Channel): void {
    this.#channel = channel;
    const held = this.#held;
    this.#held = [];
    for (const print of held) print();
  }

  published(url: string, port: number): void {
    this.#out({ type: "published", url, port }, `Published ${url}`);
  }

  request({ method, target, status, durationMs }: WatchedRequest): void {
    if ((this.#channel?.queued ?? Infinity) > maxUnreadBytes) return;
    const path = toVisibleLine(target).slice(0, maxTarget);
    const ms = Math.round(durationMs);
    const shown = status === 0 ? "---" : String(status);
    this.#out({ type: "request", method, path, status, duration_ms: ms }, `${method} ${path} ${shown} ${ms} ms`);
  }

  /** A problem, which goes to standard error. */
  problem(text: string): void {
    const line = toVisibleLine(text);
    if (this.json) this.#out({ type: "error", message: line }, "");
    else this.#print(() => this.#channel?.writeError(this.#line(line)));
  }

  notice(text: string): void {
    this.#out({ type: "notice", message: text }, text);
  }

  /** Several lines, such as the help. */
  text(text: string): void {
    this.#print(() => this.#channel?.write(Buffer.from(this.isTty ? text.replaceAll("\n", "\r\n") : text)));
  }

  #out(value: object, text: string): void {
    this.#print(() => this.#channel?.write(Buffer.from(this.#line(this.json ? JSON.stringify(value) : text))));
  }

  #line(text: string): string {
    return this.isTty && !this.json ? `${text}\r\n` : `${text}\n`;
  }

  #print(print: () => void): void {
    if (this.#channel) print();
    else if (this.#held.length < maxHeldLines) this.#held.push(print);
  }
}
