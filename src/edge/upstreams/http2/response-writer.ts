import { isBodiless } from "../../../http1/bodiless.ts";
import type { FieldTable } from "../../../http1/field-table.ts";
import { reasonPhrase } from "../../../http1/reasons.ts";
import { writeLastChunk } from "../../../http1/write-chunk.ts";
import type { HeadBuilder } from "../../../http2/head-builder.ts";
import { pseudo } from "../../../http2/header-entry.ts";

const requestPseudo = [":method", ":scheme", ":authority", ":path", ":protocol"] as const;

/** Maximum size of a chunk that is copied next to its framing, bytes. */
const copyBytes = 4096;
const lineEnd = Buffer.from("\r\n");

/** Writes a response in HTTP/1.1 for the parser of upstream responses. */
export class ResponseWriter {
  readonly #write: (bytes: Buffer, bodyBytes: number) => void;
  #isHead = false;
  /**
   * Last part of the HTTP/1.1 response: a head without body, or the last piece of a declared length. It waits for the
   * end of the stream. Otherwise the next request would begin before the service has ended this one.
   */
  #held: Buffer | undefined;
  #heldBody = 0;
  #begun = false;
  #isChunked = false;
  /** Remaining bytes of a body with declared length. */
  #left = 0;

  /** @param write called with bytes and the number of body bytes among them. The others are HTTP/1.1 framing */
  constructor(write: (bytes: Buffer, bodyBytes: number) => void) {
    this.#write = write;
  }

  /** Whether the final head was written. */
  get begun(): boolean {
    return this.#begun;
  }

  start(isHead: boolean): void {
    this.#isHead = isHead;
    this.#held = undefined;
    this.#heldBody = 0;
    this.#begun = false;
    this.#isChunked = false;
    this.#left = 0;
  }

  /**
   * Writes a header block before the body. Returns its error, or "".
   * @param last whether the connection accepts no other request
   */
  head(block: HeadBuilder, endStream: boolean, last: boolean): string {
    if (block.fault !== "") return block.fault;
    const text = block.pseudo[pseudo[":status"]];
    if (text === undefined || !/^[1-5]\d\d$/.test(text)) return "invalid :status";
    if (requestPseudo.some((name) => block.pseudo[pseudo[name]] !== undefined)) return "pseudo-field of a request";
    const status = Number(text);
    const fields = block.build("");
    if (fields === undefined) return block.fault;
    const start = `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\n${linesOf(fields)}${last ? "connection: close\r\n" : ""}`;
    if (status < 200) {
      if (status === 101 || endStream || fields.contentLength > 0) return "invalid interim response";
      this.#write(Buffer.from(`${start}\r\n`, "latin1"), 0);
      return "";
    }
    this.#begun = true;
    return this.#final(start, status, fields.contentLength, endStream);
  }

  #final(start: string, status: number, contentLength: number, endStream: boolean): string {
    const isBare = this.#isHead || isBodiless(status);
    if (isBare) {
      this.#held = Buffer.from(`${start}\r\n`, "latin1");
    } else if (contentLength >= 0) {
      this.#left = contentLength;
      if (contentLength === 0) this.#held = Buffer.from(`${start}\r\n`, "latin1");
      else if (!endStream) this.#write(Buffer.from(`${start}\r\n`, "latin1"), 0);
    } else if (endStream) {
      this.#held = Buffer.from(`${start}content-length: 0\r\n\r\n`, "latin1");
    } else {
      this.#isChunked = true;
      this.#write(Buffer.from(`${start}transfer-encoding: chunked\r\n\r\n`, "latin1"), 0);
    }
    return endStream ? this.end(undefined) : "";
  }

  /** Returns the error, or "". */
  body(bytes: Buffer): string {
    const { length } = bytes;
    if (!this.#isChunked) {
      if (length > this.#left) return "more DATA than there can be";
      if (length === 0) return "";
      this.#left -= length;
      if (this.#left > 0) this.#write(bytes, length);
      else [this.#held, this.#heldBody] = [bytes, length];
      return "";
    }
    const size = Buffer.from(`${length.toString(16)}\r\n`);
    if (length <= copyBytes) {
      this.#write(Buffer.concat([size, bytes, lineEnd]), length);
      return "";
    }
    this.#write(size, 0);
    this.#write(bytes, length);
    this.#write(lineEnd, 0);
    return "";
  }

  /**
   * Ends the response. Omits trailers after a declared length, because HTTP/1.1 has no place for them. Returns the
   * error, or "".
   */
  end(trailers: FieldTable | undefined): string {
    if (this.#isChunked) {
      writeLastChunk({ write: this.#takes }, trailers);
      return "";
    }
    if (this.#left > 0) return "less DATA than content-length";
    if (this.#held !== undefined) this.#write(this.#held, this.#heldBody);
    return "";
  }

  readonly #takes = (bytes: Uint8Array): boolean => {
    this.#write(bytes as Buffer, 0);
    return true;
  };
}

function linesOf(fields: FieldTable): string {
  const lines = Buffer.allocUnsafe(fields.byteBound);
  return lines.toString("latin1", 0, fields.write(lines, 0));
}
