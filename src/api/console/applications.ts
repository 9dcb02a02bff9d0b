/**
 * Applications that people connect to `/mcp` (OAuth 2.1). The grant of an application is a part of a console session, so
 * that it has the person's rights at each request, and ends with the session (decision 47).
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { minuteMs } from "../../lib/durations.ts";
import { Refusal } from "../../lib/errors.ts";
import { clientAddress } from "../../identity/authorization/protocol.ts";
import { makePendingGrant } from "../../identity/sessions/grant.ts";
import { consoleSession } from "../../resources/console-session.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { grantIn, makeGrants } from "../authorization/grants.ts";
import type { Key } from "../http/authenticate.ts";
import { systemWrite } from "../operation/system-write.ts";
import { makeAccessRequests } from "./access-requests.ts";
import type { AccessRequest, AccessRequests, AccessRequestsOptions } from "./access-requests.ts";
import { consoleSessions, makeApplicationTokens } from "./application-tokens.ts";
import type { ApplicationTokens } from "./application-tokens.ts";
import type { ConsoleSessions } from "./console-sessions.ts";
import type { OpenSession, Opener } from "./open-session.ts";
import type { TeamVisit } from "./team-visit.ts";
import type { Team } from "./team.ts";

export interface ApplicationsOptions extends AccessRequestsOptions {
  readonly sessions: ConsoleSessions;
  readonly team: Team | undefined;
}

/** Who decides, and with which request. */
export interface ConsentDecision {
  readonly session: OpenSession;
  readonly scopes: readonly string[];
  readonly baseUrl: string;
  readonly request: IncomingMessage;
  readonly operationId: string;
}

export interface Applications extends ApplicationTokens {
  readonly requests: AccessRequests;
  /** Scopes of the request that the person can give. */
  possible(request: AccessRequest, session: OpenSession): readonly string[];
  /** Resolves with the next address of the browser, and the cookie of a further login at the identity provider. */
  allow(
    asked: AccessRequest,
    decision: ConsentDecision,
  ): Promise<{ readonly location: string; readonly cookie?: string }>;
  decline(asked: AccessRequest): string;
  /** Ends the further login. Resolves with the address of the client. Rejects with `Refusal`. */
  finish(sessionId: string, visit: TeamVisit): Promise<string>;
  stop(): void;
}

const accessTokenMinutes = 60;
const refreshTokenDays = 30;
/** How long a person may take at the identity provider, milliseconds. */
const pendingMs = 10 * minuteMs;
const kind = consoleSession.name;

export function makeApplications(options: ApplicationsOptions): Applications {
  const { store, clock, sessions, team, documents } = options;
  const grants = makeGrants(store, clock, consoleSessions);
  const issueCode = async (object: StoredObject, asked: AccessRequest): Promise<string> => {
    const { clientKey: clientId, clientTitle: clientName, redirectUri, state, challenge, resource, issuer } = asked;
    const approval = {
      clientId,
      clientName,
      redirectUri,
      challenge,
      resource,
      accessTokenMinutes,
      refreshTokenDays,
      scopes: docOf(object, consoleSession).client_scopes,
      audience: resource,
      onlyIfKnown: false,
    };
    const answer = await grants.approve(object.account_id, { name: "approve", sessionId: object.id, approval });
    if (answer.name !== "code") throw new Refusal("consent_lost");
    return clientAddress(redirectUri, { code: answer.code, state, iss: issuer });
  };
  return {
    ...makeApplicationTokens({ ...options, grants }),
    requests: makeAccessRequests(options),
    possible: ({ scopes }, { key }) => scopes.filter((one) => one === "read" || mayWrite(key)),
    async allow(asked, { session, scopes, baseUrl, request, operationId }) {
      const { key, object, person } = session;
      const { person_id: personId, passkey_id: passkeyId } = docOf(object, consoleSession);
      const opener: Opener = session.who ? { personId, passkeyId } : { isKey: true };
      const application = {
        client: asked.clientTitle,
        client_scopes: scopes,
        grant: JSON.stringify({ ...makePendingGrant(key.principal.expiresAtMs ?? 0), ...(person && { asked }) }),
        untilMs: clock.now() + pendingMs,
      };
      const made = await sessions.connect(key, opener, application, request, operationId);
      if (!person || !team) return { location: await issueCode(made, asked) };
      // A separate login, so that no two sessions share the provider's tokens.
      return await team.login.begin(baseUrl, { application: made.id });
    },
    decline: ({ redirectUri, state, issuer }) =>
      clientAddress(redirectUri, { error: "access_denied", state, iss: issuer }),
    async finish(sessionId, visit) {
      const found = await findPendingSession(sessionId, store, clock);
      if (!found || !team) throw new Refusal("consent_lost");
      const { session, asked } = found;
      const { key, personId } = team.people.admit(visit.person, session.account_id);
      // The person who confirmed, and no one else.
      if (key.principal.id !== docOf(session, consoleSession).person) throw new Refusal("console_person_refused");
      const context = systemWrite(session.account_id, "connectApplication", clock);
      const { result } = await store.write(context, (draft) => {
        const present = draft.get(session.account_id, kind, session.id);
        if (!present || grantIn(present)?.stage !== "pending") throw new Refusal("consent_lost");
        const identity = JSON.stringify(visit.person);
        const ready = draft.replace(present, { ...present.doc, identity, person_id: personId ?? "" });
        team.checks.begin(draft, ready, visit);
        return ready;
      });
      return await issueCode(result as StoredObject, asked);
    },
    stop: () => documents.close(),
  };
}

/** Returns a session that waits for a login at the identity provider. */
async function findPendingSession(id: string, store: Store, clock: Clock) {
  if (store.node) await store.refresh();
  for (const { id: accountId } of store.accounts()) {
    const session = store.get(accountId, kind, id);
    if (!session || consoleSessions.endOf(session) <= clock.now()) continue;
    const { asked } = (grantIn(session) ?? {}) as { readonly asked?: AccessRequest };
    return asked && { session, asked };
  }
  return undefined;
}

/** Whether the caller's role or key may change the configuration. */
function mayWrite({ principal }: Key): boolean {
  return principal.scope?.write !== false;
}
