/** Exchanges secrets of invitations for agent tokens, once per use, on any node. */
import { timingSafeEqual } from "node:crypto";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { agentInvitation, agentInvitationSpace, lookupOf } from "../../resources/agent-invitation.ts";
import { credential } from "../../resources/credential.ts";
import type { AgentJoined, Upward } from "../../routing/planes/messages.ts";
import { docOf } from "../../schema/doc.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { withToken } from "./token-docs.ts";

type JoinQuestion = Upward & { readonly type: "join" };

const kind = agentInvitation.name;

export function keepJoiningAgents(store: Store, clock: Clock, log: Log): EdgeObserver {
  /** Null if the code is unknown, expired or used up. Undefined if that cannot be determined. */
  const join = async ({ secretHash, name, ip }: JoinQuestion): Promise<AgentJoined | null | undefined> => {
    try {
      // Always refresh, so that the response time does not reveal whether this node knows the code.
      if (store.node) await store.refresh();
      const found = store.holder("", agentInvitationSpace, lookupOf(secretHash));
      if (!isValid(found, secretHash, clock)) return null;
      const { account_id, id } = found;
      // The history shows the invitation as the author. The creation of the invitation shows who invited the agent.
      const principal = { accountId: account_id, id, source: ip };
      const context = { principal, operation: "joinAgent", operationId: newId("op", clock.now()) };
      // If two agents use two nodes, the second write runs again on the result of the first.
      const { result: token } = await store.write(context, (draft) => {
        const held = draft.get(account_id, kind, id);
        return isValid(held, secretHash, clock) ? admitAgent(held, name, draft) : undefined;
      });
      if (token === undefined) return null;
      log.info("agent joined", { invitation: id, name, ip });
      return { token, accountName: store.accounts().find((one) => one.id === account_id)?.name ?? "" };
    } catch (error) {
      log.warn("agent not joined", { error });
      return undefined;
    }
  };
  return {
    receive(message, line) {
      if (message.type !== "join") return;
      const { call } = message;
      runUnattended(
        "message",
        join(message).then((joined) => line.send({ type: "joined", call, ...(joined !== undefined && { joined }) })),
      );
    },
  };
}

/** Does the same work for every code. An unknown code is compared with zeros. */
function isValid(found: StoredObject | undefined, secretHash: string, clock: Clock): found is StoredObject {
  const doc = found && docOf(found, agentInvitation);
  const isSame = timingSafeEqual(Buffer.from(doc?.code_hash ?? noHash, "hex"), Buffer.from(secretHash, "hex"));
  const isOpen = (doc?.used ?? 0) < (doc?.uses ?? 0) && Date.parse(doc?.expires_at ?? "") > clock.now();
  return isSame && isOpen;
}

const noHash = "0".repeat(64);

/** Uses the invitation once. Returns the token of the new credential. */
function admitAgent(invitation: StoredObject, name: string, draft: Draft): string {
  const doc = docOf(invitation, agentInvitation);
  draft.replace(invitation, { ...doc, used: doc.used + 1 });
  const token = newToken(tokenPrefixes.agent);
  const { metadata, acl, token_expires_at } = doc;
  const fields = { description: name, metadata, owner_id: null, expires_at: token_expires_at, acl };
  draft.create(invitation.account_id, credential.name, withToken(fields, token).doc);
  return token;
}
