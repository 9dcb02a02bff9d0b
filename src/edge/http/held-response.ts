import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { Holding } from "./exchange-holding.ts";
import type { HoldingExchange } from "./exchange-holding.ts";
import type { ResponseBody } from "./response-stages.ts";
import { noBytes } from "../../lib/no-bytes.ts";

/**
 * Buffers a response's body while its hooks decide. Normally it holds at most one window, for which the upstream gets
 * no credit. It holds the whole body if a hook reads it.
 */
export class HeldResponse implements ResponseBody {
  /** Set when the body has ended. */
  end: { readonly trailers: FieldTable | undefined } | undefined;
  readonly #length: number;
  readonly #holding: Holding;
  readonly #credit: () => void;
  readonly #kept = new GatheredBytes();
  #replaced: Buffer | undefined;
  #whole: { readonly maxBytes: number; readonly settled: PromiseWithResolvers<Buffer> } | undefined;

  /**
   * @param length of the body, or -1 if unknown
   * @param credit lets the upstream send more
   */
  constructor(length: number, exchange: HoldingExchange, credit: () => void) {
    this.#length = length;
    this.#holding = new Holding(exchange);
    this.#credit = credit;
  }

  get trailers(): FieldTable | undefined {
    return this.end?.trailers;
  }

  /** Body that a hook has set instead. */
  get replaced(): Buffer | undefined {
    return this.#replaced;
  }

  /** Returns false if the upstream must wait for credit. */
  keep(bytes: Buffer): boolean {
    this.#kept.add(bytes);
    this.#holding.add(bytes.length);
    const whole = this.#whole;
    if (whole === undefined) return false;
    if (this.#kept.length > whole.maxBytes) this.fail("payload_too_large");
    else if (this.#holding.isTooMuch) this.fail("edge_full");
    return this.#whole !== undefined;
  }

  ended(trailers: FieldTable | undefined): void {
    this.end = { trailers };
    this.#whole?.settled.resolve(this.#kept.join());
    this.#whole = undefined;
  }

  /**
   * Resolves with the whole body when it has ended. The pieces are still available for forwarding. Rejects with a
   * `Refusal`.
   */
  body(maxBytes: number): Promise<Buffer> {
    if (this.#replaced !== undefined) {
      if (this.#replaced.length > maxBytes) return Promise.reject(new Refusal("payload_too_large"));
      return Promise.resolve(this.#replaced);
    }
    if (this.#length === 0) return Promise.resolve(noBytes);
    if (this.#length > maxBytes || this.#kept.length > maxBytes)
      return Promise.reject(new Refusal("payload_too_large"));
    if (this.end) return Promise.resolve(this.#kept.join());
    const whole = { maxBytes, settled: Promise.withResolvers<Buffer>() };
    this.#whole = whole;
    this.#credit();
    return whole.settled.promise;
  }

  /** Replaces the body after it was collected. */
  replaceBody(bytes: Buffer): void {
    if (this.#length !== 0 && this.end === undefined) throw new Error("replace a response body: it has not arrived");
    this.take();
    this.#replaced = bytes;
    this.#holding.add(bytes.length);
  }

  /** Rejects the promises that wait for the whole body. */
  fail(reason: RefusalName): void {
    this.#whole?.settled.reject(new Refusal(reason));
    this.#whole = undefined;
  }

  /** Returns and releases the pieces to forward. */
  take(): readonly Buffer[] {
    const replaced = this.#replaced;
    this.#replaced = undefined;
    this.#holding.clear();
    return replaced === undefined ? this.#kept.take() : [replaced];
  }
}
