import type { ControlPlaneSettings } from "../../settings/control-plane.ts";
import type { Usage } from "../../storage/inbox/inbox-store.ts";

const megabyte = 1_048_576;

export type InboxSettings = Pick<ControlPlaneSettings, "inboxMaxMessages" | "inboxMaxBytes">;

/** What each account stores, with what is on its way to the disk. Read again periodically, because other nodes store. */
export class InboxLimits {
  readonly #settings: InboxSettings;
  #stored: ReadonlyMap<string, Usage> = new Map();
  /** Stored or being stored since the last reading. */
  readonly #since = new Map<string, { messages: number; bytes: number }>();

  constructor(settings: InboxSettings) {
    this.#settings = settings;
  }

  loaded(stored: ReadonlyMap<string, Usage>): void {
    this.#stored = stored;
    this.#since.clear();
  }

  /** Counts a message if the account has room for it. */
  take(accountId: string, bytes: number): boolean {
    const stored = this.#stored.get(accountId);
    const since = this.#since.get(accountId) ?? { messages: 0, bytes: 0 };
    const { inboxMaxMessages, inboxMaxBytes } = this.#settings;
    if ((stored?.messages ?? 0) + since.messages >= inboxMaxMessages) return false;
    if ((stored?.bytes ?? 0) + since.bytes + bytes > inboxMaxBytes * megabyte) return false;
    since.messages += 1;
    since.bytes += bytes;
    this.#since.set(accountId, since);
    return true;
  }
}
