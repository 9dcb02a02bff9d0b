/** People who accepted an invitation: their permissions, and how they get in with a passkey. */
import { hash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { Refusal } from "../../lib/errors.ts";
import { hashToken } from "../../lib/tokens.ts";
import { passkey, passkeySpace } from "../../resources/passkey.ts";
import { invitationLookup, personInvitation, personInvitationSpace } from "../../resources/person-invitation.ts";
import { person, personEmailSpace } from "../../resources/person.ts";
import { usedMessage } from "../../resources/used-message.ts";
import { docOf, emptyDoc } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Draft, Reader, Store, StoredObject } from "../../storage/store.ts";
import type { Key } from "../http/authenticate.ts";
import type { NewPasskey, StoredPasskey } from "./passkeys.ts";
import { historyName, keyOfRole } from "./roles.ts";
import type { Opener, Who } from "./open-session.ts";

export interface Member {
  readonly key: Key;
  readonly who: Who;
}

/** How a person proves who they are from now on. */
export type Proof = NewPasskey | { readonly subject: string };

export interface Members {
  /** Returns the person's permissions now. Undefined if the person or the passkey of the login is gone or inactive. */
  find(accountId: string, personId: string, passkeyId: string): Member | undefined;
  /** Returns the invitation with the code, at any node. Rejects with `Refusal` if it is not valid. */
  invitation(code: unknown): Promise<StoredObject>;
  /** Returns the permissions that the invitation gives. */
  invited(invitation: StoredObject): Member;
  /**
   * Uses up the invitation, and creates its person. Resolves with what opens their session. Rejects with `Refusal` if
   * another request was faster.
   */
  accept(invitation: StoredObject, name: string, proof: Proof, from: From): Promise<Opener & Member>;
  /** Returns the passkey that the browser names, at any node, with its person. Rejects with `Refusal`. */
  passkey(credentialId: unknown): Promise<StoredObject>;
  /** Returns what opens the session of a login, with the person's permissions now. Throws `Refusal`. */
  logIn(passkey: StoredObject, verified: Verified): Opener & Member;
  /** Ids of credentials that a person has. */
  credentialsOf(personId: string): readonly string[];
}

interface From {
  readonly source: string;
  readonly operationId: string;
}

interface Verified {
  readonly counter: number;
  readonly challenge: string;
  readonly untilMs: number;
}

/** Maximum number of passkeys per person. */
const maxPasskeys = 20;
/** Maximum number of people whose rate limits are remembered. */
const maxKept = 10_000;
const noHash = "0".repeat(64);

export function makeMembers(store: Store, clock: Clock): Members {
  const buckets = new Lru<string, Key["bucket"]>(maxKept);
  const memberOf = (accountId: string, { email, name, role }: Pick<DocOf<typeof person>, keyof Who>): Member => {
    const known = `${accountId} ${email}`;
    let bucket = buckets.get(known);
    if (!bucket) buckets.set(known, (bucket = { wholeAtMs: 0 }));
    return { key: keyOfRole(accountId, historyName(email), role, bucket), who: { email, name, role } };
  };
  const holder = async (space: string, name: string): Promise<StoredObject | undefined> => {
    // Another server may have just created it. Always refresh, so that the time does not reveal what this node knows.
    if (store.node) await store.refresh();
    return store.holder("", space, name);
  };
  const find = (accountId: string, personId: string, passkeyId: string): Member | undefined => {
    const found = store.get(accountId, person.name, personId);
    if (passkeyId !== "" && !store.get(accountId, passkey.name, passkeyId)) return undefined;
    const doc = found && docOf(found, person);
    return doc?.active ? memberOf(accountId, doc) : undefined;
  };
  return {
    find,
    async invitation(code) {
      const codeHash = hashToken(typeof code === "string" ? code : "").toString("hex");
      const found = await holder(personInvitationSpace, invitationLookup(codeHash));
      if (!isValid(found, codeHash, store, clock)) throw new Refusal("person_invitation_spent");
      return found;
    },
    invited(invitation) {
      const { email, role, person_id } = docOf(invitation, personInvitation);
      const known = store.get(invitation.account_id, person.name, person_id);
      const name = known ? docOf(known, person).name : "";
      return memberOf(invitation.account_id, { email, role, name });
    },
    async accept(invitation, name, proof, { source, operationId }) {
      const { account_id: accountId, id } = invitation;
      const { email, code_hash: codeHash } = docOf(invitation, personInvitation);
      const principal = { accountId, id: historyName(email), source };
      const context = { principal, operation: "acceptPersonInvitation", operationId };
      const { result } = await store.write(context, (draft) => {
        const held = draft.get(accountId, personInvitation.name, id);
        if (!isValid(held, codeHash, draft, clock)) throw new Refusal("person_invitation_spent");
        draft.delete(held);
        const made = personFrom(held, name, proof, draft, formatTimestamp(clock.now()));
        const key = "credentialId" in proof ? addPasskey(draft, made, proof, id) : undefined;
        return { personId: made.id, passkeyId: key?.id ?? "" };
      });
      const { personId, passkeyId } = result as { readonly personId: string; readonly passkeyId: string };
      return { ...memberIn(find(accountId, personId, passkeyId)), personId, passkeyId };
    },
    async passkey(credentialId) {
      const id = typeof credentialId === "string" ? credentialId : "";
      const found = await holder(passkeySpace, hash("sha256", id));
      if (!found) throw new Refusal("passkey_refused", "check the passkey: the server does not know it");
      return found;
    },
    logIn(found, { counter, challenge, untilMs }) {
      const { account_id: accountId, id: passkeyId } = found;
      const { person_id: personId } = docOf(found, passkey);
      const at = formatTimestamp(clock.now());
      return {
        ...memberIn(find(accountId, personId ?? "", passkeyId)),
        personId: personId ?? "",
        passkeyId,
        also(draft) {
          const key = hash("sha256", `console passkey ${challenge}`);
          const [held, owner] = [
            draft.get(accountId, passkey.name, passkeyId),
            draft.get(accountId, person.name, personId ?? ""),
          ];
          if (!held || !owner || draft.holder(accountId, "used message", key)) throw new Refusal("passkey_refused");
          draft.create(accountId, usedMessage.name, { key, until: formatTimestamp(untilMs) });
          draft.replace(held, { ...held.doc, counter, last_used_at: at });
          draft.replace(owner, { ...owner.doc, last_login_at: at });
        },
      };
    },
    credentialsOf: (personId) => store.children(passkey.name, personId).map((one) => docOf(one, passkey).credential_id),
  };
}

/** Returns a stored passkey for the check of a browser's response. */
export function toStoredPasskey(found: StoredObject): StoredPasskey {
  const { credential_id, public_key, counter, user_handle } = docOf(found, passkey);
  return { credentialId: credential_id, publicKey: public_key, counter, userHandle: user_handle };
}

function memberIn(member: Member | undefined): Member {
  if (!member) throw new Refusal("passkey_refused", "check the passkey: its person is not active");
  return member;
}

/** Does the same work for every code. An unknown code is compared with zeros. */
function isValid(
  found: StoredObject | undefined,
  codeHash: string,
  reader: Pick<Reader, "get" | "holder">,
  clock: Clock,
): found is StoredObject {
  const doc = found && docOf(found, personInvitation);
  const isSame = timingSafeEqual(Buffer.from(doc?.code_hash ?? noHash, "hex"), Buffer.from(codeHash, "hex"));
  if (!isSame || !doc || Date.parse(doc.expires_at ?? "") <= clock.now()) return false;
  const { account_id: accountId } = found as StoredObject;
  const known = reader.holder(accountId, personEmailSpace, doc.email);
  // An invitation is for the state of the person that its author saw: no person, or one with the same role.
  if (!known) return doc.person_id === "";
  const { active, role } = docOf(known, person);
  return known.id === doc.person_id && active && role === doc.role;
}

/** Creates the person, or returns the existing one with the new proof. */
function personFrom(invitation: StoredObject, name: string, proof: Proof, draft: Draft, at: string): StoredObject {
  const { email, role, description, metadata, person_id } = docOf(invitation, personInvitation);
  const subject = "subject" in proof ? { subject: proof.subject } : {};
  const known = draft.get(invitation.account_id, person.name, person_id);
  const more = { ...subject, last_login_at: at };
  if (known) return draft.replace(known, { ...known.doc, ...more });
  const doc = { ...emptyDoc(person.fields), description, metadata, email, name, role, ...more };
  return draft.create(invitation.account_id, person.name, doc);
}

function addPasskey(draft: Draft, owner: StoredObject, proof: NewPasskey, userHandle: string): StoredObject {
  if (draft.children(passkey.name, owner.id).length >= maxPasskeys) {
    throw new Refusal("passkey_refused", `add a passkey: a person has at most ${maxPasskeys}; delete one first`);
  }
  return draft.create(owner.account_id, passkey.name, {
    person_id: owner.id,
    synced: proof.isSynced,
    last_used_at: null,
    credential_id: proof.credentialId,
    credential_hash: hash("sha256", proof.credentialId),
    public_key: proof.publicKey,
    counter: proof.counter,
    user_handle: userHandle,
  });
}
