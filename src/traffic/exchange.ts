import type { BodyStage } from "./body-stage.ts";
import type { FieldBlock } from "../lib/field-block.ts";
import type { CallChain } from "./calls.ts";
import type { Handshake } from "./handshake.ts";
import type { DescribedVisitor, LoginCookies, Visitor } from "./login.ts";
import type { Step } from "./step.ts";

/** A request and its response in flight, as modules see them; the same for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  /** The request id: in the log, the error page, `X-Request-Id` to the upstream and the trace. */
  readonly id: string;
  readonly connection: ConnectionFacts;
  readonly request: RequestHead;
  /** The account that the host belongs to, once that is known. */
  readonly accountId?: string | undefined;
  /** When its head was read, milliseconds since 1970. */
  readonly receivedAt: number;
  /** When its body had come whole, as `receivedAt`; undefined until then. */
  readonly bodyReceivedAt?: number | undefined;
  /** Present from the upstream's response head on. */
  readonly response: ResponseHead | undefined;
  /** The upstream's connection had carried a request before; known once there is a response of it. */
  readonly connectionReused?: boolean | undefined;
  /** What opening that connection took for this request, 0 for one that was reused; known as `connectionReused` is. */
  readonly dialDurationMs?: number | undefined;
  /** What was decided so far, in order. */
  readonly steps: Step[];
  /** What rules of a traffic policy have noted for the event of the request. */
  logs?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Requests of policies that led to this one; absent until its own rules send one. */
  calls?: CallChain | undefined;
  /** The client went away before there was a response: that there is none says nothing about the upstream. */
  readonly abandoned: boolean;
  /** Login cookies, which were cut from the request. */
  readonly loginCookies?: LoginCookies | undefined;
  /** Who is logged in, once a module has found out. */
  login?: Visitor | undefined;
  /** Whose it is, where the host belongs to no account: its trace is shown there. */
  ownerAccount?: string | undefined;
  /** Whom it is rehearsed as, where it is described: whoever asks for a login takes them for logged in. */
  readonly rehearsedAs?: DescribedVisitor | undefined;
  /** Told once when it is over. */
  watcher?: ExchangeWatcher | undefined;
  /** Nothing more comes of it; absent where it is described. */
  readonly isOver?: boolean;
  /** Bytes of bodies, and of what it was upgraded to, in both directions so far; absent where it is described. */
  readonly bytesMoved?: number;
  /** Breaks it off, whatever it is at; absent where it is described. */
  breakOff?(): void;
  /**
   * The whole request body, read up to `maxBytes`; the upstream still gets it unchanged.
   * Rejects with a `Refusal` (payload_too_large, request_timeout, bad_request).
   */
  body(maxBytes: number): Promise<Buffer>;
  /** What the upstream gets instead of the body that `body` has resolved with; throws before that. */
  replaceBody(bytes: Buffer): void;
}

export interface ExchangeWatcher {
  over(): void;
}

export interface ConnectionFacts {
  /**
   * Where it comes from, as text, IPv4-mapped IPv6 unmapped: "192.0.2.1". The peer, or whom a trusted proxy names by
   * a PROXY protocol header or, for each request, by X-Forwarded-For.
   */
  readonly source: string;
  /** 0 where the proxy did not say. */
  readonly sourcePort: number;
  /** Where it came to. */
  readonly local: LocalEnd;
  readonly localPort: number;
  /** Wall clock at accept, milliseconds since 1970. */
  readonly startedAt: number;
  /** What has gone over the connection so far, TLS included; absent where it is described and not made. */
  readonly traffic?: ConnectionTraffic | undefined;
  /** Absent on plain connections, and where TLS is not ended at the edge or not yet. */
  readonly tls: TlsFacts | undefined;
  /** What the client began TLS with; absent on plain connections. */
  readonly hello?: HelloFacts | undefined;
}

/** The system is asked for it when somebody wants to know, which few do. */
export interface LocalEnd {
  /** Absent once the connection has closed, and where it is described and not made. */
  readonly localAddress?: string | undefined;
}

/** What a ClientHello says in the clear. */
export interface HelloFacts {
  /** Lower case, without a trailing dot; "" when the client names no server. */
  readonly serverName: string;
  /** Protocols offered, in the client's order (RFC 7301). */
  readonly alpn: readonly string[];
  /** The client's fingerprint; absent where a connection is described and not made. */
  readonly ja4?: string;
}

/** Bytes from the client, and to it. */
export interface ConnectionTraffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

export interface TlsFacts {
  /** As in `HelloFacts`. */
  readonly serverName: string;
  readonly version: string;
  readonly cipher: string;
  /** What the handshake was bound to; absent where a connection is described and not made. */
  readonly demands?: Handshake;
  /** The protocol that ALPN has chosen, "" for none; absent where a connection is described and not made. */
  readonly alpn?: string;
  /**
   * The client certificate, DER, where one was asked for and given: verified, unless the handshake was told by a
   * policy not to verify it.
   */
  readonly clientCertificate: Buffer | undefined;
  /** Shown in the handshake; absent where a connection is described and not made. */
  readonly serverCertificate?: ServedCertificate | undefined;
}

export interface ServedCertificate {
  /** Leaf first. */
  readonly certificatePem: string;
}

export interface RequestHead {
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly method: string;
  /** Canonical path (RFC 3986 §6.2.2): routes, modules and policies judge this one. */
  path: string;
  /** Path and query as the client sent them: what signatures over the URL cover. */
  readonly target: string;
  /** Raw query with its `?`, or "". */
  query: string;
  /** Path and query as a rule left them, which the upstream receives; absent until a rule changes them. */
  rewritten?: string | undefined;
  /** Host, lower case, without port. */
  readonly host: string;
  readonly scheme: "https" | "http";
  /** The client asks to turn the exchange into a WebSocket (RFC 6455 §4.1, RFC 8441). */
  readonly websocket: boolean;
  /**
   * What the exchange becomes when the upstream agrees, both directions as bytes that no module sees: "websocket" or
   * the protocols that the client offers by Upgrade (RFC 9110 §7.8). "" or absent: nothing.
   */
  readonly upgrade?: string | undefined;
  readonly headers: HeaderFields;
  /** The client's Accept-Encoding, where the upstream is sent another one. */
  acceptedCodings?: readonly string[] | undefined;
  /** What came behind the body; known once all of it has come. */
  readonly trailers?: HeaderFields | undefined;
}

export interface ResponseHead {
  status: number;
  readonly headers: HeaderFields;
  /** What came behind the body, once `body` has resolved or the upstream was done before the hooks were. */
  readonly trailers?: HeaderFields | undefined;
  /**
   * The whole body as the upstream has sent it, or as it was replaced, read up to `maxBytes` while the head waits. For
   * response hooks. Rejects with a `Refusal` (payload_too_large, or one that says that the edge is full): then the body passes as it is.
   */
  body(maxBytes: number): Promise<Buffer>;
  /** What the client gets instead of the body that `body` has resolved with; its length is told in the head. */
  replaceBody(bytes: Buffer): void;
  /** Adds a stage to the response body; the last one added is nearest to the client. */
  transform(stage: BodyStage): void;
}

/** Header fields in order; names are matched without regard to case and are lower case on the way out. */
export interface HeaderFields {
  /** The first value, or undefined. */
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  has(name: string): boolean;
  /** Replaces every value of `name`. */
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  /** Adds its fields, before others that were added. */
  appendBlock(block: FieldBlock): void;
  delete(name: string): void;
  entries(): readonly (readonly [name: string, value: string])[];
}
