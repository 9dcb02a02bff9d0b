/** Bounds the work of searches: one at a time for each account, and each for a limited time. */
import type { Clock } from "../../lib/clock.ts";

/** Maximum number of searches of an account that run or wait, and of those of one API key. More fail. */
const maxOfAccount = 16;
const maxOfKey = 4;

/** Too many searches run or wait. */
export class SearchesBusy extends Error {}

interface Queue {
  count: number;
  readonly ofKey: Map<string, number>;
  last: Promise<unknown>;
}

export class Searches {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #maxMs: number;
  readonly #accounts = new Map<string, Queue>();

  /** @param maxMs time after which the caller of a search gives up */
  constructor(clock: Pick<Clock, "monotonic">, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** @param search stops soon after `isOver` returns true */
  async run<Found>(
    accountId: string,
    keyId: string,
    search: (isOver: () => boolean) => Promise<Found>,
  ): Promise<Found> {
    const startedAt = this.#clock.monotonic();
    const isOver = (): boolean => this.#clock.monotonic() - startedAt >= this.#maxMs;
    const account = this.#accounts.get(accountId) ?? {
      count: 0,
      ofKey: new Map<string, number>(),
      last: Promise.resolve(),
    };
    const ofKey = account.ofKey.get(keyId) ?? 0;
    if (account.count >= maxOfAccount || ofKey >= maxOfKey) {
      throw new SearchesBusy("search captured requests: too many searches of the account or the key wait");
    }
    account.count += 1;
    account.ofKey.set(keyId, ofKey + 1);
    this.#accounts.set(accountId, account);
    const found = account.last.then(() => search(isOver));
    account.last = found.catch(() => undefined);
    try {
      return await found;
    } finally {
      account.count -= 1;
      account.ofKey.set(keyId, (account.ofKey.get(keyId) ?? 1) - 1);
      if (account.count === 0) this.#accounts.delete(accountId);
    }
  }
}
