/** Responses of the bridge: an event stream, or one JSON body for clients that accept no stream. */
import type { ServerResponse } from "node:http";
import type { RpcId, RpcMessage, RpcRequest } from "./json-rpc.ts";

/** What makes the sender wait until the client has read. */
export interface Sender {
  pause(): void;
  resume(): void;
}

export class EventStream {
  readonly response: ServerResponse;
  readonly #sender: Sender;

  constructor(response: ServerResponse, sender: Sender, headers: Readonly<Record<string, string>>) {
    this.response = response;
    this.#sender = sender;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers });
    response.flushHeaders();
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  send(message: object): void {
    this.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** A comment, so that nothing between server and client closes a quiet stream. */
  pulse(): void {
    this.write(":\n\n");
  }

  private write(text: string): void {
    if (!this.isOpen || this.response.write(text)) return;
    this.#sender.pause();
    const goOn = (): void => {
      this.response.off("drain", goOn);
      this.response.off("close", goOn);
      this.#sender.resume();
    };
    this.response.once("drain", goOn);
    this.response.once("close", goOn);
  }
}

/** The response to one POST: the answers to its requests. */
export class McpReply {
  /** Undefined for a client that accepts JSON only. */
  readonly stream: EventStream | undefined;
  readonly #response: ServerResponse;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #isBatch: boolean;
  readonly #waiting: Set<RpcId>;
  readonly #progress: ReadonlySet<unknown>;
  readonly #answers: object[] = [];

  constructor(
    response: ServerResponse,
    requests: readonly RpcRequest[],
    { sender, headers, isBatch }: { sender: Sender | undefined; headers: Record<string, string>; isBatch: boolean },
  ) {
    this.#response = response;
    this.#headers = headers;
    this.#isBatch = isBatch;
    this.#waiting = new Set(requests.map(({ id }) => id));
    this.#progress = new Set(requests.map(progressTokenOf).filter((token) => token !== undefined));
    this.stream = sender && new EventStream(response, sender, headers);
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Whether a notification of the server is about one of the requests. */
  concerns({ method, params }: RpcMessage): boolean {
    return method === "notifications/progress" && this.#progress.has(params?.["progressToken"]);
  }

  answer(id: RpcId, message: object): void {
    if (!this.#waiting.delete(id) || !this.isOpen) return;
    if (this.stream) this.stream.send(message);
    else this.#answers.push(message);
    if (this.#waiting.size > 0) return;
    if (this.stream) this.#response.end();
    else sendJson(this.#response, 200, this.#isBatch ? this.#answers : (this.#answers[0] as object), this.#headers);
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function progressTokenOf({ params }: RpcRequest): unknown {
  return (params?.["_meta"] as Record<string, unknown> | undefined)?.["progressToken"];
}
