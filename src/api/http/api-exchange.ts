import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiPrincipal } from "../operation/call.ts";
import type { Allowance } from "./rate-limit.ts";

/** A request and the results of its checks so far. */
export interface ApiExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectsContinue: boolean;
  readonly operationId: string;
  principal: ApiPrincipal;
  allowance: Allowance | undefined;
}

const anonymous: ApiPrincipal = { accountId: "", id: "", operator: false };

/** Returns an exchange with only the head of the request. */
export function newExchange(
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
  operationId: string,
): ApiExchange {
  return { request, response, expectsContinue, operationId, principal: anonymous, allowance: undefined };
}
