import { createHash } from "node:crypto";

/** Twice the maximum age of a provider's timestamp, after which a replay is stale anyway. */
const lifeMs = 2 * 3_600_000;
/** Maximum number of remembered messages. Beyond it the oldest are forgotten. */
const maxMessages = 10_000;

/** Accepted messages, so that none is accepted twice (I6). */
export class TakenMessages {
  /** Time of acceptance by a hash of the id, oldest first. */
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

/** Also tracks requests in progress: an id counts as accepted after a successful response from the upstream. */
export class TakenRequests<T extends object> {
  readonly #messages = new TakenMessages();
  readonly #underWay = new WeakMap<T, string>();

  has(id: string, now: number): boolean {
    return this.#messages.has(id, now);
  }

  begin(request: T, id: string): void {
    this.#underWay.set(request, id);
  }

  /** @param status of the upstream; undefined without a response */
  settle(request: T, status: number | undefined, now: number): void {
    const id = this.#underWay.get(request);
    if (id !== undefined && status !== undefined && status >= 200 && status < 300) this.#messages.add(id, now);
  }
}

/** Ids may be as long as a header field. */
function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("base64");
}
