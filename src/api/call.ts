/** One request to the API after authentication, and what is answered. */
import type { IncomingMessage } from "node:http";
import type { JsonObject } from "../lib/json.ts";
import type { Operation as ResourceOperation, ResourceDeclaration } from "../schema/resource.ts";
import type { Fields } from "../schema/fields.ts";
import type { WriteContext } from "../storage/store.ts";

export interface ApiPrincipal {
  readonly accountId: string;
  /** Id of the API key. */
  readonly id: string;
  readonly source: string;
  /** May manage accounts. */
  readonly operator: boolean;
}

export interface Call {
  readonly operation: Operation;
  readonly operationId: string;
  readonly principal: ApiPrincipal;
  /** Values of the path's parameters, in order. */
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
  /** {} where there is none. */
  readonly body: JsonObject;
  /** Without slash at the end; every URI of the answer begins with it. */
  readonly baseUrl: string;
  readonly ifMatch: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Why the caller makes the change, in its own words. */
  readonly reason: string | undefined;
  readonly request: IncomingMessage;
}

export interface Reply {
  readonly status: number;
  /** Absent: no body. */
  readonly body?: string | Buffer;
  readonly contentType?: string;
  readonly etag?: string;
  /** Of the write that was made, or of the state that was read. */
  readonly revision?: number;
}

export interface Operation {
  /** e.g. `createIPPolicyRule`; unique. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** e.g. `/ip_policies/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly resource?: ResourceDeclaration;
  readonly verb?: ResourceOperation | "replace" | "clear" | "command";
  /** Name of the block that it is about, on the resource. */
  readonly block?: string;
  /** No key and no version are asked for. */
  readonly open?: boolean;
  /** What is done with a body: refused when there is one, read, or read past. */
  readonly takes: "nothing" | "object" | "anything";
  /** Fields of the body, for the description of the API. */
  readonly input?: Fields;
  /** Key of the list in the answer. */
  readonly listKey?: string;
  /** Known query parameters. */
  readonly query?: readonly string[];
  /** Status of a success. */
  readonly status: number;
  /** Name of the schema of the answer; absent: none. */
  readonly answers?: string;
  run(call: Call): Reply | Promise<Reply>;
}

export function writeContext(call: Call): WriteContext {
  const { accountId, id, source } = call.principal;
  return {
    principal: { accountId, id, source },
    operation: call.operation.id,
    operationId: call.operationId,
    ...(call.reason !== undefined && { reason: call.reason }),
  };
}
