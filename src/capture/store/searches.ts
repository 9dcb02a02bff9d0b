/** Bounds the work of searches: one at a time for each account, and each for as long as its caller waits. */
import type { Clock } from "../../lib/clock.ts";

/** Maximum number of an account's searches that wait. More fail. */
const maxWaiting = 16;

export class Searches {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #maxMs: number;
  readonly #accounts = new Map<string, { count: number; last: Promise<unknown> }>();

  /** @param maxMs time after which the caller of a search gives up */
  constructor(clock: Pick<Clock, "monotonic">, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** @param search stops soon after `isOver` returns true */
  async run<Found>(accountId: string, search: (isOver: () => boolean) => Promise<Found>): Promise<Found> {
    const startedAt = this.#clock.monotonic();
    const isOver = (): boolean => this.#clock.monotonic() - startedAt >= this.#maxMs;
    const account = this.#accounts.get(accountId) ?? { count: 0, last: Promise.resolve() };
    if (account.count >= maxWaiting) throw new Error("search captured requests: too many searches of the account wait");
    account.count += 1;
    this.#accounts.set(accountId, account);
    const found = account.last.then(() => search(isOver));
    account.last = found.catch(() => undefined);
    try {
      return await found;
    } finally {
      account.count -= 1;
      if (account.count === 0) this.#accounts.delete(accountId);
    }
  }
}
