import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiPrincipal } from "../operation/call.ts";
import type { Allowance } from "./rate-limit.ts";

/** A request and what is known of it so far. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectsContinue: boolean;
  readonly operationId: string;
  principal: ApiPrincipal;
  allowance: Allowance | undefined;
}

const anonymous: ApiPrincipal = { accountId: "", id: "", operator: false };

/** One of which nothing is known yet but its head. */
export function newExchange(
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
  operationId: string,
): Exchange {
  return { request, response, expectsContinue, operationId, principal: anonymous, allowance: undefined };
}
