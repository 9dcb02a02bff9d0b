import { createHash } from "node:crypto";

/** Twice the longest time in which a provider's timestamp is taken: after it a replay is stale anyway. */
const lifeMs = 2 * 3_600_000;
/** Messages remembered at most; beyond it the oldest are forgotten. */
const maxMessages = 10_000;

/** The messages that were taken on, so that none is taken on twice (I6). */
export class TakenMessages {
  /** When, by a hash of the id; the oldest first. */
  readonly #taken = new Map<string, number>();

  /** @param now milliseconds since 1970 */
  has(id: string, now: number): boolean {
    const at = this.#taken.get(keyOf(id));
    return at !== undefined && now - at < lifeMs;
  }

  add(id: string, now: number): void {
    const key = keyOf(id);
    this.#taken.delete(key);
    this.#taken.set(key, now);
    for (const [oldest, at] of this.#taken) {
      if (this.#taken.size <= maxMessages && now - at < lifeMs) break;
      this.#taken.delete(oldest);
    }
  }
}

/** The same for requests that are still under way: an id is taken once the upstream has answered with success. */
export class TakenRequests<T extends object> {
  readonly #messages = new TakenMessages();
  readonly #underWay = new WeakMap<T, string>();

  has(id: string, now: number): boolean {
    return this.#messages.has(id, now);
  }

  begin(request: T, id: string): void {
    this.#underWay.set(request, id);
  }

  /** @param status of the upstream; undefined without an answer */
  settle(request: T, status: number | undefined, now: number): void {
    const id = this.#underWay.get(request);
    if (id !== undefined && status !== undefined && status >= 200 && status < 300) this.#messages.add(id, now);
  }
}

/** Ids may be as long as a header field. */
function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("base64");
}
