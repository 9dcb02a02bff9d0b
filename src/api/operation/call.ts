/** One request to the API after authentication, and what is answered. */
import type { IncomingMessage } from "node:http";
import type { RefusalName } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Operation as ResourceOperation, ResourceDeclaration } from "../../schema/resource.ts";
import type { Fields } from "../../schema/fields.ts";
import type { Judge } from "../../storage/store.ts";
import type { Scope } from "./scope.ts";

export interface ApiPrincipal {
  readonly accountId: string;
  /** Id of the API key. */
  readonly id: string;
  /** May manage accounts. */
  readonly operator: boolean;
  /** What the key is limited to; absent: nothing. */
  readonly scope?: Scope;
  /** When the key stops working; absent: never. */
  readonly expiresAtMs?: number;
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
  readonly request: IncomingMessage;
  /** Judges what the call writes, where its key is limited to some objects. */
  readonly judge?: Judge;
  /** Where the call notes which concealed values it gives itself: paths by the object's id. For its judge. */
  readonly given?: Map<string, ReadonlySet<string>>;
}

export interface Reply {
  readonly status: number;
  /** Absent: no body. */
  readonly body?: string | Buffer;
  /** Length of `body` in decimal, where it is known already. */
  readonly contentLength?: string;
  readonly contentType?: string;
  /** What caches may do with it; nothing unless given. */
  readonly cacheControl?: string;
  readonly etag?: string;
  /** More header fields: names and values in turn. */
  readonly headers?: readonly string[];
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
  /** What is done with a body: refused when there is one, read (a document also as YAML), or read past. */
  readonly takes: "nothing" | "object" | "document" | "anything";
  /** Fields of the body, for the description of the API. */
  readonly input?: Fields;
  /** Key of the list in the answer. */
  readonly listKey?: string;
  /** Known query parameters. */
  readonly query?: readonly string[];
  /** Status of a success. */
  readonly status: number;
  /** Media type of an answer without a schema; plain text unless given. */
  readonly produces?: string;
  /** Name of the schema of the answer; absent: none. */
  readonly replySchema?: string;
  /** The schemas of what is answered, where no resource has them: by name. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
  /** For the description of the API: a body, and an answer, where they do not follow from the declarations. */
  readonly exampleBody?: JsonObject;
  readonly exampleReply?: unknown;
  /** Answers an object with its ETag, although it is of no resource. */
  readonly tagged?: boolean;
  /** A second media type that it answers, to those who accept it. */
  readonly alsoProduces?: string;
  /** What else it answers as plain text, by status. */
  readonly plainReplies?: Readonly<Record<number, { readonly description: string; readonly example: string }>>;
  /** The word that a limited key must have among its scopes, beside `write` where it writes. */
  readonly needs?: "exchanges";
  /** Takes an `Idempotency-Key`, although it writes nothing to storage. */
  readonly once?: boolean;
  /** Changes nothing, although its method is not GET. */
  readonly reads?: boolean;
  /** Writes to storage, without being of one resource. */
  readonly stores?: boolean;
  /** What it may be refused with beyond what follows from the rest. */
  readonly refusals?: readonly RefusalName[];
  run(call: Call): Reply | Promise<Reply>;
}

/** The value of a header field, several joined as one list. */
export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
