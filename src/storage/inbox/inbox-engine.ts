/**
 * The database of inboxes, as both kinds offer it. On SQLite it is a separate file with its own thread, so that no
 * webhook waits for a write of the API, and no write of the API for a webhook (decision 48).
 */
import type { SealedMessage } from "./inbox-messages.ts";

export type InboxRow = Readonly<Record<string, unknown>>;

/** A statement with `?` for each parameter. */
export interface InboxStep {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface InboxEngine {
  readonly dialect: "sqlite" | "postgres";
  /**
   * Runs the steps in one transaction, and then stores the messages. Resolves once all of it is on disk, with the rows of
   * each step and, after them, the `id` of each message that was no duplicate.
   */
  write(steps: readonly InboxStep[], messages?: readonly SealedMessage[]): Promise<readonly (readonly InboxRow[])[]>;
  read(step: InboxStep): Promise<readonly InboxRow[]>;
  close(): Promise<void>;
}

/** Milliseconds since 1970 by the database's clock, which all nodes share. */
export const present = {
  sqlite: "cast(unixepoch('subsec') * 1000 as integer)",
  postgres: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
} as const;
