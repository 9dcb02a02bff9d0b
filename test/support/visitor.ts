/** A client that sends requests continuously, and reuses its connection until the test requests a new one. */
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { Agent as KeepAlive, request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import type { Protocol } from "./http-client.ts";

export interface VisitorOptions {
  readonly protocol: Protocol;
  /** Default: GET. POST has a body, and no intermediary may retry it. */
  readonly method?: "GET" | "POST";
  readonly host: string;
  /** Expected body of a 200 response. */
  readonly text: string;
  /** Returns undefined to stop. */
  readonly connect: () => Promise<TLSSocket | undefined>;
  readonly until?: AbortSignal;
  /** Pause between a response and the next request, milliseconds. Default: 0. */
  readonly thinkMs?: number;
}

const body = "asked";

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
        this.failures.push(`${this.#what}: ${String(error)}`);
        if (!socket) return;
      }
      socket.destroy();
    }
  }

  async #overHttp1(socket: TLSSocket): Promise<void> {
    const agent = new KeepAlive({ keepAlive: true, maxSockets: 1 });
    agent.createConnection = () => socket;
    for (let isKept = true; isKept && !this.#isOver;) {
      const { host, method } = this.#options;
      const outgoing = requestHttps({ agent, method, headers: { host } });
      if (method === "POST") outgoing.write(body);
      outgoing.end();
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      await this.#answered(response.statusCode ?? 0, await readText(response));
      isKept = response.headers.connection !== "close";
    }
  }

  async #overHttp2(socket: TLSSocket): Promise<void> {
    const { host, method = "GET" } = this.#options;
    const session: ClientHttp2Session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on("error", () => {});
    const goodbye = new AbortController();
    session.on("goaway", () => goodbye.abort());
    while (!goodbye.signal.aborted && !this.#isOver) {
      const stream = session.request({ ":method": method, ":path": "/", ":authority": host }, { endStream: false });
      stream.end(method === "POST" ? body : undefined);
      const closed = once(stream, "close").then(() => Promise.reject(new Error("the stream was closed")));
      closed.catch(() => {});
      try {
        const [head] = (await Promise.race([once(stream, "response"), closed])) as [Record<string, unknown>];
        await this.#answered(Number(head[":status"]), await readText(stream));
      } catch (error) {
        // GOAWAY arrived during the request: no one processed the request, so the client retries it (RFC 9113 §8.7).
        if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) throw error;
        break;
      }
    }
    session.destroy();
  }

  async #answered(status: number, text: string): Promise<void> {
    this.answers += 1;
    if (status !== 200 || text !== this.#options.text) this.failures.push(`${this.#what}: ${status} ${text}`);
    const { thinkMs = 0 } = this.#options;
    if (thinkMs > 0) await new Promise((resume) => setTimeout(resume, thinkMs));
  }

  get #what(): string {
    const { protocol, method = "GET" } = this.#options;
    return `${new Date().toISOString()} ${protocol} ${method}, ${this.answers} answers, ${this.connections} connections`;
  }
}
