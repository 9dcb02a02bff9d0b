/** Calls of operations from inside the API, for an entrance with another protocol, such as MCP. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ApiPrincipal, Call, Operation, Reply } from "../operation/call.ts";
import { emptyBody } from "./body.ts";
import type { ApiExchange } from "./api-exchange.ts";
import { readQuery } from "./request-checks.ts";
import { makeRouter } from "./router.ts";
import type { StoppedOperations } from "./stopped-operations.ts";

export interface InnerCall {
  readonly method: Operation["method"];
  /** With its query. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly principal: ApiPrincipal;
  /** Header fields of the call, lower case. It has none of the outer request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws for operations that the entrance does not allow. */
  check(operation: Operation, query: URLSearchParams): void;
}

/** Runs an operation as if the caller had called it. The outer request is already admitted. Throws `Refusal`. */
export type RunInner = (exchange: ApiExchange, baseUrl: string, call: InnerCall) => Promise<Reply>;

export function makeInnerCalls(operations: readonly Operation[], stopped: StoppedOperations): RunInner {
  const router = makeRouter(operations);
  return async ({ request, operationId }, baseUrl, { method, path, body = emptyBody, principal, headers, check }) => {
    const url = URL.parse(path, "http://localhost");
    const found = url && router(url.pathname);
    const operation = found?.operations.get(method);
    if (!url || !found || !operation) throw new Refusal("unknown_path", `there is no operation ${method} ${path}`);
    const query = readQuery(operation, url.search.slice(1));
    check(operation, query);
    const { socket } = request;
    const call: Call = {
      operation,
      operationId,
      principal,
      parameters: found.parameters,
      query,
      body,
      baseUrl,
      request: { method, url: path, headers, socket } as unknown as IncomingMessage,
    };
    return await stopped.run(call);
  };
}
