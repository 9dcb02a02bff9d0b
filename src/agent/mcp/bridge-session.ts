/** One MCP session of the bridge: its process, and what the client waits for. */
import type { ServerResponse } from "node:http";
import { runUnattended } from "../../lib/boundary.ts";
import type { Timer } from "../../lib/clock.ts";
import { McpChild } from "./child.ts";
import type { ChildOptions } from "./child.ts";
import { isRequest, rpcCodes, rpcError } from "./json-rpc.ts";
import type { RpcId, RpcMessage, RpcRequest } from "./json-rpc.ts";
import { EventStream, McpReply } from "./mcp-reply.ts";

const maxPending = 100;
/** Messages of the server that wait for a stream of the client. Older ones are dropped. */
const maxQueued = 64;
/** Time for a server to answer `initialize`, milliseconds. `npx` may download it first. */
const beginMs = 60_000;
/** A server that ends more often than this within a minute ends its session. */
const maxRestarts = 3;
const restartsMs = 60_000;

export interface SessionOptions extends ChildOptions {
  readonly id: string;
  readonly said: (line: string) => void;
  /** Reports that the server has ended, and is started again for the next message. */
  readonly crashed: (why: string) => void;
  /** Called once. Nothing is sent to the session afterwards. */
  readonly closed: () => void;
}

export class BridgeSession {
  readonly id: string;
  /** Monotonic time of the client's last request, or the end of its last response. */
  usedAt: number;
  readonly #options: SessionOptions;
  readonly #replies = new Map<RpcId, McpReply>();
  readonly #queue: RpcMessage[] = [];
  readonly #restarts: number[] = [];
  #begin: RpcRequest;
  #child: McpChild | undefined;
  /** Messages that wait until a restarted server is initialized. */
  #held: RpcMessage[] | undefined;
  #listening: EventStream | undefined;
  #beginning: Timer | undefined;
  #isClosed = false;

  constructor(begin: RpcRequest, options: SessionOptions) {
    this.id = options.id;
    this.#options = options;
    this.#begin = begin;
    this.usedAt = options.clock.monotonic();
  }

  /** Whether a client waits for something of the session. */
  get isActive(): boolean {
    return this.#listening?.isOpen === true || [...this.#replies.values()].some(({ isOpen }) => isOpen);
  }

  /** Starts the server and answers the client's `initialize`. */
  begin(response: ServerResponse): void {
    const headers = { "mcp-session-id": this.id };
    this.#replies.set(
      this.#begin.id,
      new McpReply(response, [this.#begin], { sender: undefined, headers, isBatch: false }),
    );
    this.#start();
    this.#deliver(this.#begin);
  }

  /** Passes on the messages of one POST. */
  post(messages: readonly RpcMessage[], isBatch: boolean, acceptsStream: boolean, response: ServerResponse): void {
    this.usedAt = this.#options.clock.monotonic();
    const requests = messages.filter(isRequest);
    if (requests.length === 0) response.writeHead(202).end();
    else {
      const sender = acceptsStream
        ? { pause: () => this.#child?.pause(), resume: () => this.#child?.resume() }
        : undefined;
      const headers = { "mcp-session-id": this.id };
      const reply = new McpReply(response, requests, { sender, headers, isBatch });
      response.once("close", () => (this.usedAt = this.#options.clock.monotonic()));
      for (const { id } of requests) this.#expect(id, reply);
      this.#flush(reply.stream);
    }
    if (!this.#child) this.#revive();
    for (const message of messages) this.#deliver(message);
  }

  /** Opens the client's stream for messages that answer no request. Returns false if there is one. */
  listen(response: ServerResponse): boolean {
    if (this.#listening?.isOpen === true) return false;
    this.usedAt = this.#options.clock.monotonic();
    const sender = { pause: () => this.#child?.pause(), resume: () => this.#child?.resume() };
    this.#listening = new EventStream(response, sender, { "mcp-session-id": this.id });
    response.once("close", () => (this.usedAt = this.#options.clock.monotonic()));
    this.#flush(this.#listening);
    return true;
  }

  pulse(): void {
    this.#listening?.pulse();
    for (const { stream } of new Set(this.#replies.values())) stream?.pulse();
  }

  close(why = "the session has ended"): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#options.closed();
      this.#fail(why);
      this.#listening?.response.end();
    }
    return this.#child?.stop() ?? Promise.resolve();
  }

  #expect(id: RpcId, reply: McpReply): void {
    if (this.#replies.has(id)) {
      reply.answer(id, rpcError(id, rpcCodes.invalid, "another request with this id is still open"));
    } else if (this.#replies.size >= maxPending) {
      reply.answer(id, rpcError(id, rpcCodes.busy, `${maxPending} requests of this session are still open`));
    } else this.#replies.set(id, reply);
  }

  #deliver(message: RpcMessage): void {
    // A request that was refused above has no reply.
    if (isRequest(message) && !this.#replies.has(message.id)) return;
    if (this.#held && this.#held.length < maxPending) return void this.#held.push(message);
    if (!this.#held && this.#child?.send(message) === true) return;
    if (!isRequest(message)) return;
    this.#answer(message.id, rpcError(message.id, rpcCodes.busy, "the MCP server does not read its input"));
  }

  #start(): void {
    const { clock, said } = this.#options;
    const child = new McpChild(this.#options, {
      said,
      message: (message) => this.#child === child && this.#take(message),
      ended: (why) => this.#child === child && this.#ended(why),
    });
    this.#child = child;
    this.#beginning = clock.after(beginMs, () => {
      said(`no answer to initialize within ${beginMs / 1000} s`);
      child.kill();
    });
  }

  /** Starts the server again, as if the client had begun the session now. */
  #revive(): void {
    this.#held = [];
    this.#begin = { ...this.#begin, id: `postern-${this.id}` };
    this.#start();
    this.#child?.send(this.#begin);
  }

  #take(message: RpcMessage): void {
    if (message.method !== undefined) return this.#pass(message);
    const { id } = message;
    if (id === undefined || id === null) return;
    if (id === this.#begin.id) {
      this.#beginning?.cancel();
      if (this.#held) return this.#revived();
    }
    this.#answer(id, message);
  }

  #revived(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#child?.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    for (const message of held) this.#deliver(message);
  }

  #answer(id: RpcId, message: object): void {
    const reply = this.#replies.get(id);
    this.#replies.delete(id);
    reply?.answer(id, message);
  }

  /** Sends a message of the server to the stream that it concerns. */
  #pass(message: RpcMessage): void {
    const open = [...this.#replies.values()].filter(({ stream, isOpen }) => stream !== undefined && isOpen);
    const concerned = open.find((reply) => reply.concerns(message))?.stream;
    const listening = this.#listening?.isOpen === true ? this.#listening : undefined;
    const stream = concerned ?? listening ?? open.at(-1)?.stream;
    if (stream) return stream.send(message);
    this.#queue.push(message);
    if (this.#queue.length > maxQueued) this.#queue.shift();
  }

  #flush(stream: EventStream | undefined): void {
    if (stream) for (const message of this.#queue.splice(0)) stream.send(message);
  }

  #ended(why: string): void {
    const { clock, crashed } = this.#options;
    this.#child = undefined;
    this.#held = undefined;
    this.#beginning?.cancel();
    if (this.#isClosed) return;
    crashed(why);
    const isBegun = !this.#replies.has(this.#begin.id);
    this.#fail(`the MCP server ${why}`);
    const now = clock.monotonic();
    this.#restarts.push(now);
    while ((this.#restarts[0] ?? now) < now - restartsMs) this.#restarts.shift();
    if (!isBegun || this.#restarts.length > maxRestarts) runUnattended("task", this.close());
  }

  #fail(why: string): void {
    for (const [id, reply] of this.#replies) reply.answer(id, rpcError(id, rpcCodes.internal, why));
    this.#replies.clear();
  }
}
