/** A request to the API after authentication, and its reply. */
import type { IncomingMessage } from "node:http";
import type { RefusalName } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { DeclaredOperation as ResourceOperation, ResourceDeclaration } from "../../schema/resource.ts";
import type { Fields } from "../../schema/fields.ts";
import type { Judge } from "../../storage/store.ts";
import type { KeyScope } from "./scope.ts";

export interface ApiPrincipal {
  readonly accountId: string;
  /** Id of the API key. */
  readonly id: string;
  /** Whether the key may manage accounts. */
  readonly operator: boolean;
  /** Limits of the key. Default: none. */
  readonly scope?: KeyScope;
  /** Whether lists of changes conceal secrets although the key may read them. Default: false. */
  readonly isConcealed?: boolean;
  /** When the key expires. Default: never. */
  readonly expiresAtMs?: number;
}

export interface Call {
  readonly operation: Operation;
  readonly operationId: string;
  readonly principal: ApiPrincipal;
  /** Values of the path's parameters, in order. */
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
  /** {} without a body. */
  readonly body: JsonObject;
  /** Without a trailing slash. Every URI in the reply begins with it. */
  readonly baseUrl: string;
  readonly request: IncomingMessage;
  /** Checks what the call writes, if its key is limited to some objects. */
  readonly judge?: Judge;
  /** Records the concealed values that the call itself sends, for its judge: paths by object id. */
  readonly given?: Map<string, ReadonlySet<string>>;
}

export interface Reply {
  readonly status: number;
  /** Default: no body. */
  readonly body?: string | Buffer;
  /** A long body, in pieces that are made while it is sent. */
  readonly stream?: AsyncIterable<string>;
  /** Length of `body` in decimal, if already known. */
  readonly contentLength?: string;
  readonly contentType?: string;
  /** Value of `Cache-Control`. Default: no caching. */
  readonly cacheControl?: string;
  readonly etag?: string;
  /** More header fields: names and values in turn. */
  readonly headers?: readonly string[];
  /** Revision of the write, or of the state that was read. */
  readonly revision?: number;
}

export interface Operation {
  /** Unique, such as `createIPPolicyRule`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Such as `/ip_policies/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly resource?: ResourceDeclaration;
  readonly verb?: ResourceOperation | "replace" | "clear" | "command";
  /** Name of the resource's block that the operation changes. */
  readonly block?: string;
  /** Whether it needs neither an API key nor a version. */
  readonly open?: boolean;
  /** How it handles a body: reject one, parse one (a document also as YAML), or ignore it. */
  readonly takes: "nothing" | "object" | "document" | "anything";
  /** Fields of the body, for the description of the API. */
  readonly input?: Fields;
  /** Name of the body's schema in `schemas`, for a document with more around it. */
  readonly bodySchema?: string;
  /** Key of the list in the reply. */
  readonly listKey?: string;
  /** Known query parameters. */
  readonly query?: readonly string[];
  /** Status of a success. */
  readonly status: number;
  /** Media type of a reply without a schema. Default: plain text. */
  readonly produces?: string;
  /** Name of the reply's schema. Default: none. */
  readonly replySchema?: string;
  /** Schemas of replies that belong to no resource, by name. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
  /** Body and reply for the description of the API, if they do not follow from the declarations. */
  readonly exampleBody?: JsonObject;
  readonly exampleReply?: unknown;
  /** Whether it returns an object with an ETag although it belongs to no resource. */
  readonly tagged?: boolean;
  /** A second media type, for clients that accept it. */
  readonly alsoProduces?: string;
  /** Other replies in plain text, by status. */
  readonly plainReplies?: Readonly<Record<number, { readonly description: string; readonly example: string }>>;
  /** The word that a limited key needs among its scopes, in addition to `write` for writes. */
  readonly needs?: "exchanges";
  /** Whether its reply has no revision, because it is about traffic and not about objects. */
  readonly isUnrevised?: boolean;
  /** Whether it accepts an `Idempotency-Key` although it writes nothing to storage. */
  readonly once?: boolean;
  /** Whether it changes nothing although its method is not GET. */
  readonly reads?: boolean;
  /** Whether it writes to storage although it belongs to no single resource. */
  readonly stores?: boolean;
  /** Refusals that do not follow from the other fields. */
  readonly refusals?: readonly RefusalName[];
  run(call: Call): Reply | Promise<Reply>;
}

/** Returns the value of a header field. Several values are joined as one list. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
