/** Writes records one after another. Parts that are equal to parts of earlier records take a byte or two. */
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { CapturedRequest } from "../record.ts";
import { ByteWriter } from "./byte-writer.ts";
import { flags, httpVersions, idPrefix, outcomes } from "./layout.ts";

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
  add(record: CapturedRequest, note = ""): void {
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
    if (record.visitor !== undefined) out.word(JSON.stringify(record.visitor));
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

  #request(request: CapturedRequest["request"]): void {
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
    out.word(request.redacted.join("\n"));
    if (request.body !== undefined) out.bytes(request.body);
    out.word(request.upgrade);
  }

  /** Clients send the same names in the same order with most requests, so the list of names is one word. */
  #fields(fields: HeaderPairs): void {
    const out = this.#out;
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
    const { version, cipher, serverName, alpn, offeredAlpn, ja4, clientCertificate } = tls;
    out.word([version, cipher, serverName, alpn, ja4, ...offeredAlpn].join("\n"));
    out.word(clientCertificate === undefined ? "" : clientCertificate.toString("base64"));
  }

  #decision(decision: CapturedRequest["decision"]): void {
    const out = this.#out;
    out.number(decision.steps.length);
    for (const step of decision.steps) out.word(JSON.stringify(step));
    out.byte(outcomes.indexOf(decision.outcome));
    out.number(decision.status);
    if (decision.errorCode !== undefined) out.word(decision.errorCode);
    if (decision.backendId !== undefined) out.word(decision.backendId);
    if (decision.tunnel !== undefined) out.word(JSON.stringify(decision.tunnel));
  }
}

function isEnd(character: string | undefined): boolean {
  return character === undefined || character === "?";
}

function flagsOf({ routeId, request, connection, visitor, decision, upstream, cutShort }: CapturedRequest): number {
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
