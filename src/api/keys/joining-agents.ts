/** Trades the secrets of invitations for agent tokens: once for each use, at whichever node the agent asks. */
import { timingSafeEqual } from "node:crypto";
import { letGo } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { agentInvitation, agentInvitationSpace, lookupOf } from "../../resources/agent-invitation.ts";
import { credential } from "../../resources/credential.ts";
import type { Joined, Upward } from "../../routing/planes/messages.ts";
import { docOf } from "../../schema/doc.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { systemWrite } from "../operation/system-write.ts";
import { withToken } from "./token-docs.ts";

export interface JoiningAgents extends EdgeObserver {
  stop(): void;
}

type Asked = Upward & { readonly type: "join" };

const kind = agentInvitation.name;
const sweepMs = 60 * 60_000;
/** Expired invitations are listed for so long. */
const keptMs = 7 * 24 * 60 * 60_000;

export function keepJoiningAgents(store: Store, clock: Clock, log: Log): JoiningAgents {
  const job = store.jobs.want("forget invitations");

  /** Null for a code that is unknown, expired or used up; undefined where that cannot be found out. */
  const join = async ({ secretHash, name, ip }: Asked): Promise<Joined | null | undefined> => {
    try {
      // Always: the time that an answer takes must not say whether this node knows the code.
      if (store.node) await store.refresh();
      const found = store.holder("", agentInvitationSpace, lookupOf(secretHash));
      if (!isValid(found, secretHash, clock)) return null;
      const { account_id, id } = found;
      // The history shows the invitation as the author: its own creation shows who invited.
      const principal = { accountId: account_id, id, source: ip };
      const context = { principal, operation: "joinAgent", operationId: newId("op", clock.now()) };
      // Of two agents at two nodes, the second one's write runs again on what the first has left.
      const { result: token } = await store.write(context, (draft) => {
        const held = draft.get(account_id, kind, id);
        return isValid(held, secretHash, clock) ? admit(held, name, draft) : undefined;
      });
      if (token === undefined) return null;
      log.info("agent joined", { invitation: id, name, ip });
      return { token, accountName: store.accounts().find((one) => one.id === account_id)?.name ?? "" };
    } catch (error) {
      log.warn("agent not joined", { error });
      return undefined;
    }
  };
  const sweep = async (): Promise<void> => {
    if (!job.isHeld()) return;
    const ended = [...store.objects(new Set([kind]))].filter((one) => endOf(one) + keptMs <= store.settledNow());
    for (const { account_id, id } of ended) {
      await store.write(systemWrite(account_id, "forgetInvitation", clock), (draft) => {
        const object = draft.get(account_id, kind, id);
        if (object) draft.delete(object);
      });
    }
  };
  const timer = clock.every(sweepMs, () => {
    sweep().catch((error: unknown) => log.warn("expired invitations not deleted", { error }));
  });
  return {
    receive(message, line) {
      if (message.type !== "join") return;
      const { call } = message;
      letGo(
        "message",
        join(message).then((joined) => line.send({ type: "joined", call, ...(joined !== undefined && { joined }) })),
      );
    },
    stop: () => timer.cancel(),
  };
}

/** Does the same work for every code: an unknown one is compared with zeros. */
function isValid(found: StoredObject | undefined, secretHash: string, clock: Clock): found is StoredObject {
  const doc = found && docOf(found, agentInvitation);
  const isSame = timingSafeEqual(Buffer.from(doc?.code_hash ?? noHash, "hex"), Buffer.from(secretHash, "hex"));
  const isOpen = (doc?.used ?? 0) < (doc?.uses ?? 0) && Date.parse(doc?.expires_at ?? "") > clock.now();
  return isSame && isOpen;
}

const noHash = "0".repeat(64);

/** Uses the invitation once; returns the token of the new credential. */
function admit(invitation: StoredObject, name: string, draft: Draft): string {
  const doc = docOf(invitation, agentInvitation);
  draft.replace(invitation, { ...doc, used: doc.used + 1 });
  const token = newToken(tokenPrefixes.agent);
  const { metadata, acl, token_expires_at } = doc;
  const given = { description: name, metadata, owner_id: null, expires_at: token_expires_at, acl };
  draft.create(invitation.account_id, credential.name, withToken(given, token).doc);
  return token;
}

function endOf(object: StoredObject): number {
  return Date.parse(docOf(object, agentInvitation).expires_at ?? "");
}
