import type { FieldTable } from "../../http1/field-table.ts";
import { Refusal } from "../../lib/errors.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { ClientSide } from "./client-side.ts";
import { Holding } from "./exchange-holding.ts";
import type { HoldingExchange } from "./exchange-holding.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { noBytes } from "../../lib/no-bytes.ts";

const noPieces: readonly Buffer[] = [];
/** Maximum size of a forwarded body that stays available until the response begins, bytes. */
const maxReplayedBytes = 16 * 1024;

/**
 * Buffers a request's body: a few pieces while the request is being decided, or the whole body if a module reads it.
 * Tracks the credit that the client is owed.
 */
export class RequestBody {
  /** Whether the client has ended the body. */
  hasEnded: boolean;
  trailers: FieldTable | undefined;
  readonly #client: ClientSide;
  #length: number;
  readonly #exchange: HoldingExchange;
  /** Whether the client waits for 100 before it sends. */
  #awaitsContinue: boolean;
  #kept: GatheredBytes | undefined;
  #holding: Holding | undefined;
  /** All forwarded pieces while they can be sent again, and their bytes: Infinity after a release. */
  #lent: readonly Buffer[] = noPieces;
  #lentBytes = 0;
  #owed = 0;
  #whole:
    | { readonly maxBytes: number; readonly resolve: (body: Buffer) => void; readonly reject: (error: Error) => void }
    | undefined;
  #promise: Promise<Buffer> | undefined;

  constructor(client: ClientSide, request: ReceivedRequest, exchange: HoldingExchange) {
    this.#client = client;
    this.#exchange = exchange;
    this.#length = request.bodyLength;
    this.#awaitsContinue = request.expectsContinue;
    this.hasEnded = request.bodyLength === 0;
  }

  /** Number of buffered bytes. */
  get size(): number {
    return this.#kept?.length ?? 0;
  }

  /**
   * Buffers a piece. The client gets credit when the piece is forwarded, or when a module waits for the whole body.
   * Returns false if the edge's maximum is exceeded and no module waits, which would get the error.
   */
  keep(bytes: Buffer): boolean {
    const kept = (this.#kept ??= new GatheredBytes());
    const holding = (this.#holding ??= new Holding(this.#exchange));
    kept.add(bytes);
    holding.add(bytes.length);
    this.#owed += bytes.length;
    const whole = this.#whole;
    if (whole === undefined) return !holding.isTooMuch;
    if (kept.length > whole.maxBytes) this.fail("payload_too_large");
    else if (holding.isTooMuch) this.fail("edge_full");
    else this.credit();
    return true;
  }

  end(trailers: FieldTable | undefined): void {
    this.trailers = trailers;
    const whole = this.#whole;
    if (whole === undefined) return;
    this.#whole = undefined;
    whole.resolve(this.#join());
  }

  /** Rejects the promises that wait for the whole body. */
  fail(reason: RefusalName): void {
    this.#whole?.reject(new Refusal(reason));
    this.#whole = undefined;
  }

  /**
   * Resolves with the whole body when it has ended. The pieces are still available for forwarding. Rejects with a
   * `Refusal`.
   */
  collect(maxBytes: number): Promise<Buffer> {
    if (this.#length === 0) return Promise.resolve(noBytes);
    if (this.#length > maxBytes || this.size > maxBytes) return Promise.reject(new Refusal("payload_too_large"));
    if (this.hasEnded) return Promise.resolve(this.#join());
    this.#promise ??= new Promise((resolve, reject) => {
      this.#whole = { maxBytes, resolve, reject };
    });
    this.sendContinue();
    this.credit();
    return this.#promise;
  }

  /** Replaces the whole body after it was collected. Drops the credit for it. */
  replace(bytes: Buffer): void {
    if (!this.hasEnded) throw new Error("replace a request body: it has not arrived");
    this.take();
    this.#length = bytes.length;
    if (bytes.length === 0) return;
    this.#kept = new GatheredBytes();
    this.#kept.add(bytes);
    (this.#holding ??= new Holding(this.#exchange)).add(bytes.length);
  }

  /** Sends 100 to a client that waits for it. */
  sendContinue(): void {
    if (!this.#awaitsContinue || this.hasEnded) return;
    this.#awaitsContinue = false;
    this.#client.sendInterim(100, undefined);
  }

  /** Returns the pieces for an upstream. A short body stays available for `restore`. */
  lend(): readonly Buffer[] {
    const kept = this.#kept;
    if (kept === undefined || kept.length > maxReplayedBytes) return this.take();
    this.#kept = undefined;
    this.#lentBytes = kept.length;
    this.#lent = kept.take();
    return this.#lent;
  }

  /** Adds a piece that was forwarded as it arrived to the lent ones. */
  lent(piece: Buffer): void {
    this.#lentBytes += piece.length;
    if (this.#lentBytes > maxReplayedBytes) this.release();
    else this.#lent = this.#lent === noPieces ? [piece] : [...this.#lent, piece];
  }

  /** Makes the lent pieces available again. Returns false if a forwarded piece was released. */
  restore(): boolean {
    const { length } = this.#lent;
    if (length === 0) return this.#lentBytes === 0;
    this.#kept = new GatheredBytes();
    for (const piece of this.#lent) this.#kept.add(piece);
    this.#lent = noPieces;
    this.#lentBytes = 0;
    return true;
  }

  /** Releases the lent pieces. The pieces after them are not stored either. */
  release(): void {
    this.#lentBytes = Infinity;
    this.#lent = noPieces;
    if (this.#kept === undefined) this.#holding?.clear();
  }

  /** Returns and releases the pieces. */
  take(): readonly Buffer[] {
    this.release();
    const kept = this.#kept;
    if (kept === undefined) return noPieces;
    this.#kept = undefined;
    this.#holding?.clear();
    return kept.take();
  }

  /** Withholds the client's credit for this many bytes until `credit`. */
  owe(byteCount: number): void {
    this.#owed += byteCount;
  }

  credit(): void {
    const owed = this.#owed;
    if (owed === 0) return;
    this.#owed = 0;
    this.#client.requestConsumed(owed);
  }

  #join(): Buffer {
    return this.#kept?.join() ?? noBytes;
  }
}
