/** Handles a request from its head to the reply of its operation. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { Access } from "./access.ts";
import { hasBody, emptyBody, readBody } from "./body.ts";
import type { Cors } from "./cors.ts";
import type { ApiExchange } from "./api-exchange.ts";
import type { Front, FrontReply } from "./front.ts";
import { methodRefusal, readQuery } from "./request-checks.ts";
import { settleHead } from "./request-head.ts";
import { makeRouter } from "./router.ts";
import type { StoppedOperations } from "./stopped-operations.ts";

export interface DispatchOptions {
  readonly operations: readonly Operation[];
  /** All methods of the API. */
  readonly offered: string;
  readonly cors: Cors;
  readonly access: Access;
  readonly front?: Front;
  /** Entrances before the console, such as MCP. */
  readonly entrances: readonly Front["reply"][];
  readonly stopped: StoppedOperations;
  baseUrlOf(request: IncomingMessage): string;
}

const noQuery = new URLSearchParams();

/** Runs the operation of a request. Throws or rejects with `Refusal`. */
export function makeDispatch(options: DispatchOptions): (exchange: ApiExchange) => Reply | Promise<Reply | undefined> {
  const { offered, cors, access, front, entrances } = options;
  const router = makeRouter(options.operations);
  const dispatch = (exchange: ApiExchange): Reply | Promise<Reply | undefined> => {
    const { request, response } = exchange;
    const url = request.url as string;
    if (request.method === "OPTIONS") {
      const asked = url === "*" ? ["allow", offered] : cors.preflight(request);
      if (asked) return { status: 204, headers: asked };
    }
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const baseUrl = options.baseUrlOf(request);
    const page = firstOf(entrances, exchange, path, baseUrl) ?? front?.reply(exchange, path, baseUrl);
    if (page) {
      const run = (): Promise<Reply | undefined> => page.run((key) => access.admitKey(exchange, key));
      return (page.byKey ? access.trying(request, run) : run()).catch((error: unknown) => {
        if (page.refused && error instanceof Refusal) return page.refused(error);
        throw error;
      });
    }
    const found = router(path);
    if (!found) throw new Refusal("unknown_path", `there is no path ${JSON.stringify(url.slice(0, 128))}`);
    if (request.method === "OPTIONS") return { status: 204, headers: ["allow", found.allow] };
    const operation = found.operations.get(request.method as string);
    if (!operation) throw methodRefusal(request, found.allow);
    if (!operation.open) access.admit(exchange, baseUrl);
    const call: Call = {
      operation,
      operationId: exchange.operationId,
      principal: exchange.principal,
      parameters: found.parameters,
      query: mark < 0 ? noQuery : readQuery(operation, url.slice(mark + 1)),
      body: emptyBody,
      baseUrl,
      request,
    };
    if (!hasBody(request)) return options.stopped.run(call);
    const reading = readBody(operation, request, response, exchange.expectsContinue);
    return reading.then((body) => options.stopped.run({ ...call, body }));
  };
  return (exchange) => {
    const { request } = exchange;
    settleHead(request);
    const waiting =
      request.headers.cookie === undefined ? undefined : front?.awaited(request, options.baseUrlOf(request));
    return waiting ? waiting.then(() => dispatch(exchange)) : dispatch(exchange);
  };
}

function firstOf(entrances: readonly Front["reply"][], ...asked: Parameters<Front["reply"]>): FrontReply | undefined {
  for (const reply of entrances) {
    const found = reply(...asked);
    if (found) return found;
  }
  return undefined;
}
