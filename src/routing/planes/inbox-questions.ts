/** Messages about inboxes between an edge and its control plane: a webhook to store, and a stored one to deliver. */

import type { RefusalName } from "../../lib/errors.ts";
import type { InboxDelivery, InboxOutcome, InboxResult, ReceivedWebhook } from "../../traffic/stored-request.ts";

/** A webhook to store. The rest of its request is in its payload (`src/lib/inbox-payload.ts`). */
export interface PackedWebhook extends Omit<ReceivedWebhook, "request"> {
  readonly method: string;
  readonly source: string;
  readonly bytes: number;
}

/** `hold` pauses the deliveries of an agent's inbox, `release` continues them. */
export type AgentInboxVerb = "open" | "waiting" | "hold" | "release";

export interface AgentInboxWebhook {
  /** Requests below this path. */
  readonly path: string;
  readonly provider: string;
  readonly secret: string;
}

/** A question of an agent whose token may publish the host. */
export interface AgentInboxQuestion {
  readonly accountId: string;
  readonly credentialId: string;
  readonly source: string;
  readonly verb: AgentInboxVerb;
  readonly host: string;
  readonly port: number;
  readonly webhooks: readonly AgentInboxWebhook[];
}

export interface AgentInboxAnswer {
  readonly url: string;
  /** The host of the URL, and value of the label that the agent's tunnel must have. */
  readonly host: string;
  /** At most `maxCounted` of the storage. */
  readonly waiting: number;
}

export type AgentInboxOutcome =
  | { readonly waiting: number }
  | { readonly refused: RefusalName; readonly message: string };

export type InboxUpward =
  /** Answered by `agent_inbox_answered` with the same call. */
  | { readonly type: "agent_inbox"; readonly call: number; readonly question: AgentInboxQuestion }
  /** Answered by `inbox_stored` with the same call, once the messages are on disk. */
  | {
      readonly type: "inbox_messages";
      readonly call: number;
      /** JSON of `PackedWebhook[]`, which crosses in less time than the objects. */
      readonly messages: string;
      /** The payloads of the messages, one after the other. */
      readonly payloads: Uint8Array<ArrayBuffer>;
    }
  /** Result of this call's `inbox_delivery`. */
  | { readonly type: "inbox_result"; readonly call: number; readonly result: InboxResult };

export type InboxDownward =
  | { readonly type: "agent_inbox_answered"; readonly call: number; readonly outcome: AgentInboxOutcome }
  /** The outcomes have the order of the messages. */
  | { readonly type: "inbox_stored"; readonly call: number; readonly outcomes: readonly InboxOutcome[] }
  /** Answered by `inbox_result` with the same call. */
  | {
      readonly type: "inbox_delivery";
      readonly call: number;
      readonly delivery: InboxDelivery;
      readonly body: Uint8Array<ArrayBuffer>;
    };
