/**
 * Limits of what an account may store (D9). Checked at the end of a write, on all of its changes together, so that its
 * deletes make room for the objects it creates. A write that adds nothing always passes.
 */
import { Refusal } from "../../lib/errors.ts";
import { flagOf } from "../../settings/setting.ts";
import { quotaSettings } from "../../settings/storage.ts";
import type { Quotas } from "../../settings/storage.ts";
import type { Kinds } from "../rows/kinds.ts";
import type { Change, StoredObject } from "../store.ts";
import { bytesAdded } from "../rows/usage.ts";
import type { Usage } from "../rows/usage.ts";
import { kindNamed, listsOf } from "../rows/state-view.ts";
import type { View } from "../rows/state-view.ts";

/** The state before and after a write. */
interface Sides {
  readonly before: View;
  readonly after: View;
  /** Bytes before the write. */
  readonly usage: Usage;
}

/**
 * Returns the bytes that the changes add to each account. The cost depends only on the changes.
 * @throws Refusal `too_many_objects` or `account_full`
 */
export function checkQuotas(
  quotas: Quotas,
  kinds: Kinds,
  changes: readonly Change[],
  { before, after, usage }: Sides,
): ReadonlyMap<string, number> {
  for (const [list, { object, limit }] of listJoined(kinds, changes)) {
    const wanted = after.count(list);
    if (wanted <= quotas[limit]) continue;
    const present = before.count(list);
    if (wanted > present) refuseMore(kinds, object, limit, present, wanted, quotas);
  }
  const added = bytesAdded(kinds, changes);
  for (const [accountId, more] of added) {
    const present = usage.bytes(accountId);
    if (more > 0 && present + more > quotas.accountMaxBytes) refuseBytes(present, more, quotas.accountMaxBytes);
  }
  return added;
}

interface JoinedLists {
  /** One of the added objects. */
  readonly object: StoredObject;
  readonly limit: "accountMaxObjects" | "ownerMaxObjects";
}

/** Returns the lists that objects were added to. */
function listJoined(kinds: Kinds, changes: readonly Change[]): ReadonlyMap<string, JoinedLists> {
  const found = new Map<string, JoinedLists>();
  for (const { before, after } of changes) {
    if (!after) continue;
    const was = before && listsOf(kinds, before);
    const [own, ofOwner] = listsOf(kinds, after);
    if (!was) found.set(own, { object: after, limit: "accountMaxObjects" });
    if (ofOwner !== undefined && was?.[1] !== ofOwner) found.set(ofOwner, { object: after, limit: "ownerMaxObjects" });
  }
  return found;
}

function refuseMore(
  kinds: Kinds,
  { kind, doc }: StoredObject,
  limit: JoinedLists["limit"],
  present: number,
  wanted: number,
  quotas: Quotas,
): never {
  const { owner } = kindNamed(kinds, kind);
  const whose = limit === "ownerMaxObjects" && owner ? `${owner.kind} "${String(doc[owner.field])}"` : `this account`;
  const most = quotas[limit];
  const setting = flagOf(limit, quotaSettings[limit]);
  throw new Refusal(
    "too_many_objects",
    `${whose} has ${present} of ${kind}, would have ${wanted}, and may have ${most} (${setting} of the server)`,
    { kind, present: String(present), limit: String(most), setting },
  );
}

function refuseBytes(present: number, more: number, most: number): never {
  const setting = flagOf("accountMaxBytes", quotaSettings.accountMaxBytes);
  throw new Refusal(
    "account_full",
    `this account stores ${present} bytes, would store ${present + more}, and may store ${most} (${setting} of the server)`,
    { present: String(present), limit: String(most), setting },
  );
}
