/** Read by storage, for the control plane. */
import { date } from "./kinds/date.ts";
import { countKind } from "./kinds/number.ts";
import { one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const quotaSettings = {
  accountMaxObjects: one(
    "Maximum objects of each kind in an account. The server rejects more with 403.",
    countKind("NUMBER"),
    {
      default: 200_000,
    },
  ),
  ownerMaxObjects: one(
    "Maximum objects of each kind with the same parent, such as routes of an edge or rules of an IP policy. The server rejects more with 403.",
    countKind("NUMBER"),
    { default: 10_000 },
  ),
  accountMaxBytes: one(
    "Maximum bytes of all objects of an account, as JSON with decrypted secrets. The server rejects more with 403.",
    countKind("BYTES"),
    { default: 268_435_456 },
  ),
} as const;

export const storageSettings = {
  historyDays: one(
    "Days to keep revisions: the author, the change, and the state at that time. The server deletes older ones; 0 keeps all.",
    countKind("DAYS", 0),
    { default: 365 },
  ),
  noMigrationBackup: toggle(
    "Do not back up the database before a new version migrates it. By default, the start writes the backup beside the SQLite file, or into the data directory if the database is PostgreSQL.",
  ),
  clockConfirmed: optional(
    "The server's clock was right on this date. Set it when /problems asks: after a long time without the server, it does not delete old revisions by a clock that is far ahead of the time it last knew.",
    date,
  ),
  ...quotaSettings,
  cluster: toggle(
    "Share the PostgreSQL database with other servers that also set --cluster. Every server accepts writes and has the same configuration.",
  ),
} as const;

/** Limits on what each account may store. */
export type Quotas = ValuesOf<typeof quotaSettings>;
export type StorageSettings = ValuesOf<typeof storageSettings>;
