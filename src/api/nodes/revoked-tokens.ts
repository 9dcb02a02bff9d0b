/** Agents' tokens that were revoked, for agents at nodes that do not learn about it. */
import type { Clock } from "../../lib/clock.ts";
import { botUser } from "../../resources/bot-user.ts";
import { credential } from "../../resources/credential.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import type { NodeDirectory, NodeDirectoryOptions } from "./node-directory.ts";

const kinds: ReadonlySet<string> = new Set([credential.name, botUser.name]);

/** Whether agents may no longer connect with the token. Sessions without a token, such as unreported ones, stay. */
export function revocationsIn(store: Pick<Store, "get">, clock: Pick<Clock, "now">): NodeDirectoryOptions["isRevoked"] {
  return (accountId, id) => {
    if (!id.startsWith(`${credential.idPrefix}_`)) return false;
    const found = store.get(accountId, credential.name, id);
    if (!found) return true;
    const { owner_id: ownerId, expires_at: expiresAt } = docOf(found, credential);
    if (expiresAt !== null && Date.parse(expiresAt) <= clock.now()) return true;
    const owner = ownerId === null ? undefined : store.get(accountId, botUser.name, ownerId);
    return ownerId !== null && !(owner && docOf(owner, botUser).active);
  };
}

/** Ends such agents when a token or its owner changes. */
export function watchRevocations(store: Pick<Store, "subscribe">, directory: Pick<NodeDirectory, "endRevoked">): void {
  store.subscribe(({ changes }) => {
    if (changes.some(({ kind }) => kinds.has(kind))) directory.endRevoked();
  });
}
