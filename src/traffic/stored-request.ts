/** Webhooks that an inbox stores before the service gets them. */
import type { HeaderPairs } from "./header-list.ts";

/** A request without its body, as the service is to receive it. */
export interface StoredRequest {
  readonly method: string;
  /** Path and query as the provider sent them. */
  readonly target: string;
  /** Path and query after a rule changed them; absent otherwise. */
  readonly rewritten?: string | undefined;
  readonly scheme: "https" | "http";
  /** Lower case, without port. */
  readonly host: string;
  readonly headers: HeaderPairs;
  readonly source: string;
  readonly sourcePort: number;
  readonly localPort: number;
  /** When its head was read, milliseconds since 1970. */
  readonly receivedAt: number;
}

/** A webhook that passed all gates of its route. */
export interface ReceivedWebhook {
  readonly id: string;
  readonly accountId: string;
  readonly routeId: string;
  readonly requestId: string;
  readonly path: string;
  /** "" without verification. */
  readonly provider: string;
  /** "" if unknown. */
  readonly eventType: string;
  /** A second message with the same key is dropped for `keyMs`; "" for none. */
  readonly key: string;
  readonly keyMs: number;
  /** Messages of one line are delivered one after the other; absent: in any order. */
  readonly line?: string | undefined;
  readonly request: StoredRequest;
}

/** `full`: a limit of the account is reached. `unavailable`: the message could not be stored. */
export type InboxOutcome = "stored" | "duplicate" | "full" | "unavailable";

/** Where the edge puts webhooks. */
export interface Inbox {
  /** Resolves once the webhook is on disk, or cannot be stored. Never rejects. */
  put(message: ReceivedWebhook, body: Buffer): Promise<InboxOutcome>;
}

/** A stored webhook, on its way to the service. */
export interface InboxDelivery {
  readonly id: string;
  readonly accountId: string;
  readonly routeId: string;
  /** From 1. */
  readonly attempt: number;
  readonly timeoutMs: number;
  readonly request: StoredRequest;
}

export interface InboxResult {
  /** The service's status; absent without a response. */
  readonly status?: number | undefined;
  /** Why the service did not answer, as a code of an error or a clause. */
  readonly error?: string | undefined;
  /** The service was not reached at all, because no agent or backend is there, or the route has no inbox. */
  readonly isAway?: true;
  /** From `Retry-After` of the service. */
  readonly retryAfterMs?: number | undefined;
  readonly durationMs: number;
}
