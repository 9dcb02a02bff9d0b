import type { HttpContext } from "./http-context.ts";

/** A connection with the number of bytes that its exchanges hold. */
interface HoldingConnection {
  readonly context: Pick<HttpContext, "counters" | "limits">;
  heldBytes: number;
}

/** Owner of held bytes. The account is known once the site is known. */
export interface HoldingExchange {
  readonly shared: HoldingConnection;
  readonly accountId: string | undefined;
}

/** Maximum share of an edge's held bytes for one connection and for one account. */
const connectionShare = 1 / 4;
const accountShare = 1 / 2;

/**
 * Bytes of one body in one direction that wait at the edge. They count towards the totals of the connection, the
 * account and the edge.
 */
export class Holding {
  #bytes = 0;
  readonly #exchange: HoldingExchange;
  /** Account whose total includes the bytes. "" if none does. */
  #accountId = "";

  constructor(exchange: HoldingExchange) {
    this.#exchange = exchange;
  }

  add(byteCount: number): void {
    const { shared } = this.#exchange;
    this.#bytes += byteCount;
    shared.heldBytes += byteCount;
    shared.context.counters.heldBytes += byteCount;
    if (this.#accountId !== "") this.#count(byteCount);
  }

  remove(byteCount: number): void {
    this.add(-byteCount);
  }

  /** Sets the number of waiting bytes. */
  set(byteCount: number): void {
    this.add(byteCount - this.#bytes);
  }

  clear(): void {
    if (this.#bytes > 0) this.remove(this.#bytes);
  }

  /** Whether one of the totals exceeds its maximum. Also adds the bytes to the account's total from now on. */
  get isTooMuch(): boolean {
    const { shared, accountId } = this.#exchange;
    const { counters, limits } = shared.context;
    const { maxHeldBytes } = limits;
    if (counters.heldBytes > maxHeldBytes || shared.heldBytes > maxHeldBytes * connectionShare) return true;
    if (this.#accountId === "" && accountId !== undefined) {
      this.#accountId = accountId;
      this.#count(this.#bytes);
    }
    return (counters.heldByAccount.get(this.#accountId) ?? 0) > maxHeldBytes * accountShare;
  }

  #count(byteCount: number): void {
    const { heldByAccount } = this.#exchange.shared.context.counters;
    const bytes = (heldByAccount.get(this.#accountId) ?? 0) + byteCount;
    if (bytes > 0) heldByAccount.set(this.#accountId, bytes);
    else heldByAccount.delete(this.#accountId);
  }
}
