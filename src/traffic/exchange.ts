import type { BodyStage } from "./body-stage.ts";

import type { CallChain } from "./http-calls.ts";

import type { DescribedVisitor, LoginCookies, Visitor } from "./visitor.ts";
import type { McpSession } from "./mcp-session.ts";
import type { Replay } from "./replayed-rules.ts";
import type { Step } from "./step.ts";
import type { ConnectionFacts } from "./connection-facts.ts";
import type { HeaderFields } from "./header-fields.ts";

/** A request and its response in flight, as modules see them. The same for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  /** The request id, shown in the log, the error page, `X-Request-Id` to the upstream, and the trace. */
  readonly id: string;
  readonly connection: ConnectionFacts;
  readonly request: RequestHead;
  /** The account of the host, once it is known. */
  readonly accountId?: string | undefined;
  /** When its head was read, milliseconds since 1970. */
  readonly receivedAt: number;
  /** When its body was complete, milliseconds since 1970; undefined until then. */
  readonly bodyReceivedAt?: number | undefined;
  /** Set when the upstream's response head has arrived. */
  readonly response: ResponseHead | undefined;
  /** Whether the upstream's connection had carried an earlier request. Known once there is a response. */
  readonly connectionReused?: boolean | undefined;
  /** Time to open that connection, 0 if it was reused. Known when `connectionReused` is. */
  readonly dialDurationMs?: number | undefined;
  /** The decisions so far, in order. */
  readonly steps: Step[];
  /** Log entries that policy rules added to the request's event. */
  logs?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** The chain of policy calls that led to this request; absent until its own rules make a call. */
  calls?: CallChain | undefined;
  /** The client disconnected before there was a response, so the missing response says nothing about the upstream. */
  readonly abandoned: boolean;
  /** Login cookies, which were removed from the request. */
  readonly loginCookies?: LoginCookies | undefined;
  /** Access token of this server, which was removed from the request. */
  readonly accessToken?: string | undefined;
  /** The logged-in visitor, once a module has determined it. */
  login?: Visitor | undefined;
  /** The provider whose valid signature the request has, once a module has verified it. */
  webhookProvider?: string | undefined;
  /** The MCP session of the request, once a module has read it. */
  mcpSession?: McpSession | undefined;
  /** The account that sees the trace if the host belongs to no account. */
  ownerAccount?: string | undefined;
  /** In a dry run with a described visitor: login modules treat the visitor as logged in. */
  readonly rehearsedAs?: DescribedVisitor | undefined;
  /** Set for a recorded request that is decided again: supplies what only the record knows. */
  readonly replay?: Replay | undefined;
  /** Called once when the exchange has ended. */
  watcher?: ExchangeWatcher | undefined;
  /** Whether the exchange has ended; absent in a dry run. */
  readonly isOver?: boolean;
  /** Bytes of bodies and upgraded connections in both directions so far; absent in a dry run. */
  readonly bytesMoved?: number;
  /** Aborts the exchange in whatever state it is; absent in a dry run. */
  breakOff?(): void;
  /**
   * Reads the whole request body, up to `maxBytes`. The upstream still receives it unchanged. Rejects with a `Refusal`
   * (payload_too_large, request_timeout, bad_request).
   */
  body(maxBytes: number): Promise<Buffer>;
  /** Replaces the body that `body` resolved with. Throws before that. */
  replaceBody(bytes: Buffer): void;
}

export interface ExchangeWatcher {
  over(): void;
}

export interface RequestHead {
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly method: string;
  /** Canonical path (RFC 3986 §6.2.2), which routes, modules and policies use. */
  path: string;
  /** Path and query as the client sent them, which signatures over the URL cover. */
  readonly target: string;
  /** Raw query with its `?`, or "". */
  query: string;
  /** Path and query for the upstream after a rule changed them; absent until then. */
  rewritten?: string | undefined;
  /** Host, lower case, without port. */
  readonly host: string;
  readonly scheme: "https" | "http";
  /** Whether the client requests a WebSocket (RFC 6455 §4.1, RFC 8441). */
  readonly websocket: boolean;
  /**
   * The protocol to switch to if the upstream agrees: "websocket", or the protocols that the client offers in Upgrade
   * (RFC 9110 §7.8). Modules do not see the bytes after the switch. "" or absent: no switch.
   */
  readonly upgrade?: string | undefined;
  readonly headers: HeaderFields;
  /** The client's Accept-Encoding, if the upstream receives a different one. */
  acceptedCodings?: readonly string[] | undefined;
  /** Trailer fields, once the body is complete. */
  readonly trailers?: HeaderFields | undefined;
}

export interface ResponseHead {
  status: number;
  readonly headers: HeaderFields;
  /** Trailer fields, once `body` has resolved, or if the upstream finished before the hooks did. */
  readonly trailers?: HeaderFields | undefined;
  /**
   * Reads the whole body up to `maxBytes`, as sent by the upstream or as replaced, while the head waits. For response
   * hooks. Rejects with a `Refusal` (payload_too_large, or one for a full edge). The body then passes unchanged.
   */
  body(maxBytes: number): Promise<Buffer>;
  /** Replaces the body that `body` resolved with. Its length is set in the head. */
  replaceBody(bytes: Buffer): void;
  /** Adds a stage to the response body. The last stage added is nearest to the client. */
  transform(stage: BodyStage): void;
}
