/** Responds to input that never becomes an exchange: bytes that are not HTTP, requests that time out, CONNECT. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS_CODES } from "../../lib/http.ts";
import { Refusal } from "../../lib/errors.ts";
import { errorBody } from "./error-body.ts";
import { clientRefusal } from "./request-checks.ts";

/** The last request on a connection. */
interface UnderWay {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The unfinished response to the previous request, whose request is complete. */
  readonly before: ServerResponse | undefined;
}

export interface ConnectionRefusals {
  /** Called when the head of a request was read. */
  began(request: IncomingMessage, response: ServerResponse): void;
  /** Responds to input that Node's parser could not read, or not in time. Closes the connection. */
  failed(code: string | undefined, socket: Duplex): void;
  /** Responds to CONNECT, which no path of the API supports. Closes the connection. */
  connect(socket: Duplex): void;
}

/** @param offered all methods of the API */
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
      // The request with this body already has its response.
      if (last && !last.request.complete && last.response.headersSent) return void socket.destroy();
      const refusal = clientRefusal(code);
      const earlier = last?.request.complete ? last.response : last?.before;
      // Responses follow the order of requests. The client must not mistake this one for the response to an earlier
      // request.
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
