import { BodyReader } from "../../../http1/body-reader.ts";
import type { FieldTable } from "../../../http1/field-table.ts";
import { readRequestHead } from "../../../http1/read-request.ts";
import type { RequestRead } from "../../../http1/read-request.ts";

/** Receives the requests that were read. */
export interface RequestSink {
  /** Called when a request begins. Without `hasBody`, the head is the whole request. */
  requestHead(head: RequestRead, hasBody: boolean): void;
  requestBody(bytes: Buffer): void;
  requestEnd(trailers: FieldTable | undefined): void;
}

/** Larger than any head that the edge writes: the client's maximum plus the fields that modules and the edge add. */
const limits = { maxHeadBytes: 1024 * 1024, maxTargetBytes: 256 * 1024, maxFields: 1024 };

/** Reads the HTTP/1.1 requests that the edge writes, one after another. Each head arrives complete. */
export class RequestReader {
  readonly #sink: RequestSink;
  readonly #body = new BodyReader();

  constructor(sink: RequestSink) {
    this.#sink = sink;
  }

  /** Returns false if the bytes are not a request. */
  read(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      at = this.#body.done ? this.#readHead(bytes, at) : this.#readBody(bytes, at);
      if (at < 0) return false;
    }
    return true;
  }

  #readHead(bytes: Buffer, at: number): number {
    const head = readRequestHead(bytes, at, limits);
    if (head === undefined || "outcome" in head) return -1;
    const { chunked, contentLength } = head.fields;
    if (chunked) this.#body.startChunked();
    else this.#body.startLength(Math.max(0, contentLength));
    this.#sink.requestHead(head, !this.#body.done);
    return head.end;
  }

  #readBody(bytes: Buffer, start: number): number {
    const body = this.#body;
    const at = body.step(bytes, start);
    if (at < 0) return at;
    const { pieceStart, pieceEnd } = body;
    if (pieceEnd > pieceStart) this.#sink.requestBody(bytes.subarray(pieceStart, pieceEnd));
    if (body.done) this.#sink.requestEnd(body.trailers);
    return at;
  }
}
