/** People, their passkeys and invitations. Links are created here and shown once. Only a hash of the code is stored. */
import { Refusal } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { randomText } from "../../lib/ids.ts";
import { hashToken } from "../../lib/tokens.ts";
import { consoleSession } from "../../resources/console-session.ts";
import { passkey } from "../../resources/passkey.ts";
import { personInvitation } from "../../resources/person-invitation.ts";
import { person, personEmailSpace } from "../../resources/person.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Draft } from "../../storage/store.ts";
import { checkMayGive } from "../console/roles.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { checkExpiry } from "./tokens.ts";

export interface PeopleRules {
  readonly clock: Clock;
  /**
   * Returns the origin of invitation links. Undefined if people cannot log in there, see `passkeyOrigin`.
   * @throws Refusal if the console is off
   */
  readonly invitationOrigin: (baseUrl: string) => string | undefined;
}

const usualMs = 3 * 24 * 60 * 60_000;
const longestMs = 30 * 24 * 60 * 60_000;

export const personBehaviour = behaviourOf(person, {
  prepare({ doc, previous, principal, draft }) {
    if (!previous) return { doc };
    checkMayGive("person", docOf(previous, person).role, principal);
    checkMayGive("person", doc.role, principal);
    if (!doc.active) endSessions(draft, previous.account_id, ({ person_id }) => person_id === previous.id);
    return { doc };
  },
  deleting(object, draft) {
    endSessions(draft, object.account_id, ({ person_id }) => person_id === object.id);
  },
});

export const passkeyBehaviour = behaviourOf(passkey, {
  deleting(object, draft) {
    endSessions(draft, object.account_id, ({ passkey_id }) => passkey_id === object.id);
  },
});

export function personInvitationBehaviour({ clock, invitationOrigin }: PeopleRules) {
  return behaviourOf(personInvitation, {
    prepare({ doc, previous, principal, draft, accountId, baseUrl }) {
      if (previous) return { doc };
      const origin = invitationOrigin(baseUrl);
      if (origin === undefined) throw new Refusal("console_name_needed");
      const known = draft.holder(accountId, personEmailSpace, doc.email);
      const role = known ? docOf(known, person).role : doc.role;
      checkMayGive("person invitation", role, principal);
      const now = clock.now();
      const expires_at = doc.expires_at ?? formatTimestamp(now + usualMs);
      checkExpiry("person invitation", "expires_at", expires_at, principal, now);
      if (Date.parse(expires_at) > now + longestMs) {
        const message = `must not be later than ${formatTimestamp(now + longestMs)} (30 days), is ${expires_at}`;
        throw inputRefusal("person invitation", [{ path: "expires_at", message }]);
      }
      const code = randomText(40);
      const code_hash = hashToken(code).toString("hex");
      return {
        doc: { ...doc, role, expires_at, code_hash, person_id: known?.id ?? "" },
        // Browsers do not send the fragment, so no log has it.
        shown: { url: `${origin}/#invite=${code}` },
      };
    },
    live: () => ({ url: null }),
  });
}

function endSessions(draft: Draft, accountId: string, fits: (session: DocOf<typeof consoleSession>) => boolean): void {
  const { objects } = draft.page(accountId, consoleSession.name, { limit: Infinity });
  for (const session of objects) if (fits(docOf(session, consoleSession))) draft.delete(session);
}
