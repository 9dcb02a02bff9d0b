/** Read by the control plane. */
import { countKind } from "./kinds/number.ts";
import { one } from "./setting.ts";

export const inboxSettings = {
  inboxMaxMessages: one(
    "Maximum messages in the inboxes of an account, with delivered ones that are still kept. Providers get 503 for more.",
    countKind("NUMBER"),
    { default: 5_000_000 },
  ),
  inboxMaxBytes: one(
    "Maximum megabytes of all messages in the inboxes of an account. Providers get 503 for more.",
    countKind("MEGABYTES"),
    { default: 10_240 },
  ),
} as const;
