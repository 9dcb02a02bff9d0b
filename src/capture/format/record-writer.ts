/** Writes records one after another. Parts that are equal to parts of earlier records take a byte or two. */
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { StepReport } from "../../routing/planes/questions.ts";
import type { CapturedRequest } from "../record.ts";
import { ByteWriter } from "./byte-writer.ts";
import { flags, httpVersions, idPrefix, outcomes, rawMark } from "./layout.ts";

/**
 * Header fields as received: positions of name and value in `bytes`, five integers for each field, the first four of
 * which count. Copying these costs a fraction of making texts.
 */
export interface RawFields {
  readonly count: number;
  readonly ints: Int32Array;
  /** Position of the first integer. */
  readonly base: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A record whose header fields may be raw. */
export interface NotedRequest extends Omit<CapturedRequest, "request" | "upstream"> {
  readonly request: Omit<CapturedRequest["request"], "headers"> & { readonly headers: HeaderPairs | RawFields };
  readonly upstream:
    | (Omit<NonNullable<CapturedRequest["upstream"]>, "headers"> & { readonly headers: HeaderPairs | RawFields })
    | undefined;
}

const intsPerField = 5;

function textOf(part: object): string {
  return JSON.stringify(part);
}

/** A step may be given with its answer, which is not part of the report. */
function stepText({ by, outcome, reason, decidedBy, rule }: StepReport): string {
  return JSON.stringify({ by, outcome, reason, ...(decidedBy && { decidedBy }), ...(rule && { rule }) });
}

function tlsText({ version, cipher, serverName, alpn, ja4, offeredAlpn }: Tls): string {
  return [version, cipher, serverName, alpn, ja4, ...offeredAlpn].join("\n");
}

type Tls = NonNullable<CapturedRequest["connection"]["tls"]>;

export class RecordWriter {
  readonly #out = new ByteWriter();
  #lastAt = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get length(): number {
    return this.#out.length;
  }

  /** Returns the bytes of all records since the last call. */
  take(): Buffer<ArrayBuffer> {
    this.#lastAt = 0;
    this.#count = 0;
    return this.#out.take();
  }

  /** @param note a text for the reader of the record, which most records share */
  add(record: NotedRequest, note = ""): void {
    const out = this.#out;
    this.#count += 1;
    out.word(note);
    out.text(record.id.startsWith(idPrefix) ? record.id.slice(idPrefix.length) : `!${record.id}`);
    out.difference(record.receivedAt - this.#lastAt);
    this.#lastAt = record.receivedAt;
    out.number(flagsOf(record));
    out.word(record.nodeId);
    out.number(record.edge);
    out.word(record.accountId);
    out.word(record.siteId);
    if (record.routeId !== undefined) out.word(record.routeId);
    out.number(record.revision);
    this.#request(record.request);
    this.#connection(record.connection);
    if (record.visitor !== undefined) out.part(record.visitor, textOf);
    this.#decision(record.decision);
    const { upstream } = record;
    if (upstream !== undefined) {
      out.number(upstream.status);
      this.#fields(upstream.headers);
      out.number(upstream.waitedMs * 1000);
    }
    out.number(record.durationMs * 1000);
    out.number(record.bytesIn);
    out.number(record.bytesOut);
  }

  #request(request: NotedRequest["request"]): void {
    const out = this.#out;
    out.word(request.method);
    out.byte(httpVersions.indexOf(request.httpVersion));
    out.word(request.authority);
    out.word(request.target);
    const isSame = request.target.startsWith(request.path) && isEnd(request.target[request.path.length]);
    // Most paths are the start of their target.
    out.number(isSame ? request.path.length + 1 : 0);
    if (!isSame) out.word(request.path);
    this.#fields(request.headers);
    out.word(request.redacted.length === 0 ? "" : request.redacted.join("\n"));
    if (request.body !== undefined) out.bytes(request.body);
    out.word(request.upgrade);
  }

  /** Clients send the same names in the same order with most requests, so the list of names is one word. */
  #fields(fields: HeaderPairs | RawFields): void {
    const out = this.#out;
    if ("ints" in fields) {
      const { ints, base, count, bytes, start, end } = fields;
      out.word(rawMark);
      out.shorts(ints, { base, count, size: intsPerField, taken: 4, origin: start });
      out.piece(bytes, start, end);
      return;
    }
    let names = "";
    for (let at = 0; at < fields.length; at += 1) names += at === 0 ? fields[at]?.[0] : `\n${fields[at]?.[0]}`;
    out.word(names);
    for (const [, value] of fields) out.word(value);
  }

  #connection(connection: CapturedRequest["connection"]): void {
    const out = this.#out;
    const { tls } = connection;
    out.word(connection.source);
    out.number(connection.sourcePort);
    out.word(connection.localAddress ?? "");
    out.number(connection.localPort);
    out.difference(this.#lastAt - Math.round(connection.startedAt * 1000));
    if (tls === undefined) return;
    const { clientCertificate } = tls;
    out.part(tls, tlsText);
    out.word(clientCertificate === undefined ? "" : clientCertificate.toString("base64"));
  }

  #decision(decision: CapturedRequest["decision"]): void {
    const out = this.#out;
    out.number(decision.steps.length);
    for (const step of decision.steps) out.part(step, stepText);
    out.byte(outcomes.indexOf(decision.outcome));
    out.number(decision.status);
    if (decision.errorCode !== undefined) out.word(decision.errorCode);
    if (decision.backendId !== undefined) out.word(decision.backendId);
    if (decision.tunnel !== undefined) out.part(decision.tunnel, textOf);
  }
}

function isEnd(character: string | undefined): boolean {
  return character === undefined || character === "?";
}

function flagsOf({ routeId, request, connection, visitor, decision, upstream, cutShort }: NotedRequest): number {
  return (
    (routeId === undefined ? 0 : flags.route) |
    (request.scheme === "https" ? flags.https : 0) |
    (request.body === undefined ? 0 : flags.body) |
    (request.websocket ? flags.websocket : 0) |
    (connection.tls === undefined ? 0 : flags.tls) |
    (connection.localAddress === undefined ? 0 : flags.localAddress) |
    (connection.tls?.clientCertificate === undefined ? 0 : flags.certificate) |
    (visitor === undefined ? 0 : flags.visitor) |
    (decision.errorCode === undefined ? 0 : flags.errorCode) |
    (decision.backendId === undefined ? 0 : flags.backend) |
    (decision.tunnel === undefined ? 0 : flags.tunnel) |
    (upstream === undefined ? 0 : flags.upstream) |
    (cutShort ? flags.cutShort : 0)
  );
}
