import type { HttpContext } from "./context.ts";

/** A connection, whose exchanges may hold a part of what the edge may. */
interface HoldingConnection {
  readonly context: Pick<HttpContext, "counters" | "limits">;
  heldBytes: number;
}

/** For whom something is held. The account is known once the site is. */
export interface HoldingExchange {
  readonly shared: HoldingConnection;
  readonly accountId: string | undefined;
}

/** What one connection, and what one account, may hold of all that an edge may. */
const connectionShare = 1 / 4;
const accountShare = 1 / 2;

/** Bytes that wait at the edge, of one body in one direction: a part of the sums of its connection, account and edge. */
export class Holding {
  #bytes = 0;
  readonly #exchange: HoldingExchange;
  /** Where the bytes are counted; "" while no sum of an account has them. */
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

  /** From now on so many bytes wait. */
  set(byteCount: number): void {
    this.add(byteCount - this.#bytes);
  }

  clear(): void {
    if (this.#bytes > 0) this.remove(this.#bytes);
  }

  /** One of the sums is larger than it may be. From here on the account's has these bytes, too. */
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
