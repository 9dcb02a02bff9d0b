/** Answers to what never becomes an exchange: bytes that are no request, requests that come too late, CONNECT. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS_CODES } from "../../lib/http.ts";
import { Refusal } from "../../lib/errors.ts";
import { errorBody } from "./error-body.ts";
import { clientRefusal } from "./request-checks.ts";

/** What is under way on a connection; requests before these are answered. */
interface UnderWay {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The answer to the request before: that request is complete, its answer may not be. */
  readonly before: ServerResponse | undefined;
}

export interface ConnectionRefusals {
  /** Tells of a request whose head was read. */
  began(request: IncomingMessage, response: ServerResponse): void;
  /** Answers what Node's parser could not read, or not in time; closes the connection. */
  failed(code: string | undefined, socket: Duplex): void;
  /** Answers CONNECT, which has no target that could offer another method; closes the connection. */
  connect(socket: Duplex): void;
}

/** @param offered the methods that the API has anywhere */
export function makeConnectionRefusals(
  nextOperationId: () => string,
  answered: (status: number) => void,
  offered: string,
): ConnectionRefusals {
  const underWay = new WeakMap<Duplex, UnderWay>();

  const answer = (socket: Duplex, refusal: Refusal): void => {
    if (!socket.writable) return;
    const operationId = nextOperationId();
    const { status, body } = errorBody(refusal, operationId);
    answered(status);
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `postern-operation-id: ${operationId}`,
      `ngrok-operation-id: ${operationId}`,
      "x-content-type-options: nosniff",
      "cache-control: no-store",
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      ...(status === 405 ? [`allow: ${offered}`] : []),
      "connection: close",
    ];
    socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  };

  return {
    began(request, response) {
      const before = underWay.get(request.socket)?.response;
      underWay.set(request.socket, { request, response, before: before?.writableFinished ? undefined : before });
    },
    failed(code, socket) {
      const last = underWay.get(socket);
      // The request whose body it is has its answer.
      if (last && !last.request.complete && last.response.headersSent) return void socket.destroy();
      const refusal = clientRefusal(code);
      const earlier = last?.request.complete ? last.response : last?.before;
      // Answers are in the order of requests: this one must not be taken for that of a request before.
      if (!earlier || earlier.writableFinished || earlier.destroyed) answer(socket, refusal);
      else earlier.once("close", () => answer(socket, refusal));
    },
    connect(socket) {
      socket.on("error", () => {});
      const message = `CONNECT is not supported here; supported: ${offered}`;
      answer(socket, new Refusal("method_not_allowed", message, { allow: offered }));
    },
  };
}
