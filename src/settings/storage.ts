/** Read by storage, for the control plane. */
import { count } from "./kinds/number.ts";
import { one, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const quotaSettings = {
  accountMaxObjects: one("Objects of each kind that an account may have; more are refused with 403.", count("NUMBER"), {
    default: 200_000,
  }),
  ownerMaxObjects: one(
    "Objects of each kind that one other may own, such as routes of an edge or rules of an IP policy; more are refused with 403.",
    count("NUMBER"),
    { default: 10_000 },
  ),
  accountMaxBytes: one(
    "Bytes that the objects of an account may have together, as JSON with open secrets; more are refused with 403.",
    count("BYTES"),
    { default: 268_435_456 },
  ),
} as const;

export const storageSettings = {
  historyDays: one(
    "Days for which revisions are kept: who wrote what, and the state then. Older ones are deleted; 0 keeps all.",
    count("DAYS", 0),
    { default: 365 },
  ),
  ...quotaSettings,
  cluster: toggle(
    "Share the PostgreSQL database with other servers, each started with it: every one takes writes and has the same configuration.",
  ),
} as const;

/** What each account may store. */
export type Quotas = ValuesOf<typeof quotaSettings>;
export type StorageSettings = ValuesOf<typeof storageSettings>;
