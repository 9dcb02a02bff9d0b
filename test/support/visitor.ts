/** A client that asks without end, and keeps its connection until it is told to make another. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { Agent as KeepAlive, request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import type { Protocol } from "./http-client.ts";

export interface VisitorOptions {
  readonly protocol: Protocol;
  readonly host: string;
  /** What is to be answered, with 200. */
  readonly text: string;
  /** undefined: it stops. */
  readonly connect: () => Promise<TLSSocket | undefined>;
  readonly until?: AbortSignal;
}

export class Visitor {
  answers = 0;
  connections = 0;
  readonly failures: unknown[] = [];
  readonly #options: VisitorOptions;

  constructor(options: VisitorOptions) {
    this.#options = options;
  }

  get #isOver(): boolean {
    return this.#options.until?.aborted ?? false;
  }

  async run(): Promise<void> {
    const { protocol, connect } = this.#options;
    while (!this.#isOver) {
      let socket: TLSSocket | undefined;
      try {
        socket = await connect();
        if (!socket) return;
        socket.on("error", () => {});
        this.connections += 1;
        await (protocol === "h1" ? this.#overHttp1(socket) : this.#overHttp2(socket));
      } catch (error) {
        this.failures.push(error);
        if (!socket) return;
      }
      socket.destroy();
    }
  }

  async #overHttp1(socket: TLSSocket): Promise<void> {
    const agent = new KeepAlive({ keepAlive: true, maxSockets: 1 });
    agent.createConnection = () => socket;
    for (let isKept = true; isKept && !this.#isOver;) {
      const outgoing = requestHttps({ agent, headers: { host: this.#options.host } }).end();
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      this.#answered(response.statusCode ?? 0, await readText(response));
      isKept = response.headers.connection !== "close";
    }
  }

  async #overHttp2(socket: TLSSocket): Promise<void> {
    const { host } = this.#options;
    const session: ClientHttp2Session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on("error", () => {});
    const goodbye = new AbortController();
    session.on("goaway", () => goodbye.abort());
    while (!goodbye.signal.aborted && !this.#isOver) {
      const stream = session.request({ ":path": "/", ":authority": host });
      const closed = once(stream, "close").then(() => Promise.reject(new Error("the stream was closed")));
      const [head] = (await Promise.race([once(stream, "response"), closed])) as [Record<string, unknown>];
      closed.catch(() => {});
      this.#answered(Number(head[":status"]), await readText(stream));
    }
    session.destroy();
  }

  #answered(status: number, text: string): void {
    this.answers += 1;
    if (status !== 200 || text !== this.#options.text) this.failures.push(`${status} ${text}`);
  }
}
