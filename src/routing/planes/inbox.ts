/** Messages about inboxes between an edge and its control plane: a webhook to store, and a stored one to deliver. */

import type { InboxDelivery, InboxOutcome, InboxResult, ReceivedWebhook } from "../../traffic/inbox.ts";

export type InboxUpward =
  /** Answered by `inbox_stored` with the same call, once the message is on disk. */
  | {
      readonly type: "inbox_message";
      readonly call: number;
      readonly message: ReceivedWebhook;
      readonly body: Uint8Array<ArrayBuffer>;
    }
  /** Result of this call's `inbox_delivery`. */
  | { readonly type: "inbox_result"; readonly call: number; readonly result: InboxResult };

export type InboxDownward =
  | { readonly type: "inbox_stored"; readonly call: number; readonly outcome: InboxOutcome }
  /** Answered by `inbox_result` with the same call. */
  | {
      readonly type: "inbox_delivery";
      readonly call: number;
      readonly delivery: InboxDelivery;
      readonly body: Uint8Array<ArrayBuffer>;
    };
