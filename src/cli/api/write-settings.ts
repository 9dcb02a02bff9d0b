/** Settings that all API operation commands share. */
import { settings } from "../../settings/settings.ts";
import { countKind } from "../../settings/kinds/number.ts";
import { text, visibleKind } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { apiSettings } from "./api-client.ts";

/** Settings of every operation. `--data` is the request body, so the data directory has a longer name here. */
export const sharedSettings = {
  ...apiSettings,
  data: { ...settings.data, flag: "data-dir", variable: "POSTERN_DATA" },
  json: settings.json,
} as const;

/** Settings of every operation that writes. */
export const writeSettings = {
  ifMatch: flagOnly(optional("Change the object only if it still has this ETag.", visibleKind("ETAG"))),
  idempotencyKey: flagOnly(optional("Key that makes the server run the request only once.", visibleKind("KEY"))),
  wait: flagOnly(optional("Maximum seconds to wait until every edge serves the change.", countKind("SECONDS", 0))),
  reason: flagOnly(optional("Reason for the change, stored in the history.", text)),
} as const;

export function writeOptions(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { ifMatch, idempotencyKey, wait, reason } = values;
  return { ifMatch, idempotencyKey, waitSeconds: wait, reason };
}
