import type { FieldTable } from "../../http1/field-table.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { headTooLarge } from "../../http1/head-too-large.ts";
import { tooLarge } from "../../http1/read-fields.ts";
import { readResponseHead } from "../../http1/read-response.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { UpstreamLimits } from "./upstream-context.ts";

/** Maximum number of interim responses to one request. */
const maxInterim = 16;

/** A final head or a 101, with the position in `bytes` at which its body begins. */
export interface HeadRead {
  readonly head: ResponseRead;
  readonly bytes: Buffer;
  readonly end: number;
}

/** Reads the heads of the responses on one stream as bytes arrive. */
export class ResponseHeads {
  /** Incomplete head. */
  #begun: HeadBuffer | undefined;
  #interim = 0;

  /** Called when a request is sent. Resets the number of interim responses. */
  expect(): void {
    this.#interim = 0;
  }

  /**
   * Returns the head that ends here, undefined if it is incomplete, or the error as text.
   * @param interim receives an interim head. It returns false to stop reading
   */
  read(
    bytes: Buffer,
    limits: Pick<UpstreamLimits, "maxHeadBytes" | "maxFields">,
    interim: (status: number, fields: FieldTable) => boolean,
  ): HeadRead | string | undefined {
    let all = bytes;
    const begun = this.#begun;
    if (begun !== undefined) {
      if (!begun.add(bytes, limits.maxHeadBytes)) return undefined;
      all = begun.bytes();
    }
    let at = 0;
    while (at < all.length) {
      const head = readResponseHead(all, at, limits);
      if (head === undefined) break;
      if ("outcome" in head) return head.outcome === tooLarge ? headTooLarge(limits) : head.reason;
      at = head.end;
      if (head.status >= 200 || head.status === 101) {
        this.#begun = undefined;
        return { head, bytes: all, end: at };
      }
      if ((this.#interim += 1) > maxInterim) return `more than ${maxInterim} interim responses`;
      if (!interim(head.status, head.fields)) return undefined;
    }
    if (at === all.length) this.#begun = undefined;
    else if (begun === undefined || at > 0) {
      this.#begun = new HeadBuffer();
      this.#begun.add(at === 0 ? all : all.subarray(at), limits.maxHeadBytes);
    }
    return undefined;
  }
}
