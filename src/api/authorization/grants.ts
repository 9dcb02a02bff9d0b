/**
 * Grants of clients that are not browsers. A grant is a part of the person's login, so that everything that ends the
 * login ends the tokens. A code or refresh token is valid once. A second use shows that it was stolen, and ends the login
 * (RFC 9700 §2.1.1, §4.14.2).
 */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type {
  Approval,
  AuthorizationAnswer,
  AuthorizationError,
  AuthorizationQuestion,
} from "../../identity/machines/authorization-questions.ts";
import { sessionKind } from "../../identity/sessions/session-records.ts";
import { cookieHash, newAccessToken } from "../../identity/sessions/login-session.ts";
import type { Draft, Reader, Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { clientKey } from "./clients.ts";
import { hashOf, isSame, newFamily, newGrantToken, readGrantToken } from "./stored-grant.ts";
import type { GrantToken, StoredGrant } from "./stored-grant.ts";
import { dayMs } from "../../lib/durations.ts";

type QuestionOf<Name extends AuthorizationQuestion["name"]> = Extract<AuthorizationQuestion, { readonly name: Name }>;

const codeMs = 60_000;
/** Maximum number of sessions of a user that are compared with a client. */
const maxCompared = 1_000;

/** The kind of sessions that grants are a part of. */
export interface GrantedSessions {
  readonly kind: string;
  readonly idPrefix: string;
  /** Returns the session with this access token. */
  withToken(reader: Reader, accountId: string, accessToken: string): StoredObject | undefined;
  /** Returns the fields that change with a new access token. */
  renewed(accessToken: string, endsAtMs: number): object;
  endOf(session: StoredObject): number;
}

/** Visitors' logins at routes. */
export const visitorSessions: GrantedSessions = {
  kind: sessionKind,
  idPrefix: "appses",
  withToken: (reader, accountId, accessToken) => reader.holder(accountId, "login cookie", cookieHash(accessToken)),
  renewed: (accessToken, endsAtMs) => ({
    cookie_hash: cookieHash(accessToken),
    ends_at: endsAtMs,
    expires_at: formatTimestamp(endsAtMs),
  }),
  endOf: ({ doc }) => Number(doc["ends_at"]),
};

export interface Grants {
  approve(accountId: string, asked: QuestionOf<"approve">): Promise<AuthorizationAnswer>;
  decline(accountId: string, asked: QuestionOf<"decline">): Promise<AuthorizationAnswer>;
  exchange(accountId: string, asked: QuestionOf<"exchange">): Promise<AuthorizationAnswer>;
  refresh(accountId: string, asked: QuestionOf<"refresh">): Promise<AuthorizationAnswer>;
  revoke(accountId: string, asked: QuestionOf<"revoke">): Promise<AuthorizationAnswer>;
}

export function makeGrants(store: Store, clock: Clock, sessions = visitorSessions): Grants {
  const write = async (
    accountId: string,
    operation: string,
    work: (draft: Draft) => AuthorizationAnswer,
  ): Promise<AuthorizationAnswer> => (await store.write(systemWrite(accountId, operation, clock), work)).result;

  return {
    approve: (accountId, { sessionId, approval }) =>
      write(accountId, "approveClient", (draft) => {
        const session = draft.get(accountId, sessions.kind, sessionId);
        const grant = session && grantIn(session);
        if (!session || grant?.stage !== "pending") return refuseGrant("invalid_request", "the login is over");
        if (approval.onlyIfKnown && !isKnown(draft, accountId, session, approval)) return { name: "unknown_client" };
        const family = newFamily();
        const code = newGrantToken("code", sessionId, family);
        const { clientId, clientName, onlyIfKnown: _seen, ...rest } = approval;
        const approved: StoredGrant = {
          ...rest,
          client: clientId,
          name: clientName,
          issuedAt: 0,
          stage: "code",
          latest: grant.latest,
          family: hashOf(family),
          secret: code.secretHash,
          codeUntil: clock.now() + codeMs,
        };
        storeGrant(draft, session, approved);
        return { name: "code", code: code.text };
      }),
    decline: (accountId, { sessionId }) =>
      write(accountId, "declineClient", (draft) => {
        const session = draft.get(accountId, sessions.kind, sessionId);
        if (session && grantIn(session)?.stage === "pending") draft.delete(session);
        return { name: "done" };
      }),
    exchange: (accountId, { code, clientId, redirectUri, verifier, resource }) =>
      write(accountId, "exchangeCode", (draft) => {
        const found = findLogin(sessions, draft, accountId, "code", readGrantToken("code", code));
        if ("error" in found) return found;
        const { session, grant, family } = found;
        const isRight =
          clock.now() < grant.codeUntil &&
          isSame(grant.client, clientKey(clientId)) &&
          isSame(grant.redirectUri, redirectUri) &&
          /^[\w.~-]{43,128}$/.test(verifier) &&
          isSame(grant.challenge, hashOf(verifier));
        if (!isRight) {
          // The code is used up, so that nobody can try again.
          draft.delete(session);
          return refuseGrant(
            "invalid_grant",
            "the code has expired, or client_id, redirect_uri or code_verifier differ",
          );
        }
        if (!isResource(resource, grant)) {
          draft.delete(session);
          return refuseGrant("invalid_target", `the code is for ${grant.resource}`);
        }
        return issueTokens(sessions, draft, session, grant, family, clock);
      }),
    refresh: (accountId, { token, clientId, scope, resource }) =>
      write(accountId, "refreshTokens", (draft) => {
        const found = findLogin(sessions, draft, accountId, "refresh", readGrantToken("refresh", token));
        if ("error" in found) return found;
        const { session, grant, family } = found;
        if (!isSame(grant.client, clientKey(clientId))) {
          draft.delete(session);
          return refuseGrant("invalid_grant", "the refresh token belongs to another client");
        }
        if (!isResource(resource, grant)) return refuseGrant("invalid_target", `the token is for ${grant.resource}`);
        const wanted = scope === "" ? [] : scope.split(" ");
        if (wanted.some((one) => !grant.scopes.includes(one))) {
          return refuseGrant("invalid_scope", `the person has allowed ${grant.scopes.join(" ")}`);
        }
        if (sessions.endOf(session) <= clock.now()) {
          draft.delete(session);
          return refuseGrant("invalid_grant", "the refresh token has expired");
        }
        return issueTokens(sessions, draft, session, grant, family, clock);
      }),
    revoke: (accountId, { token, clientId }) =>
      write(accountId, "revokeToken", (draft) => {
        const parts = readGrantToken("refresh", token);
        const session = parts
          ? draft.get(accountId, sessions.kind, idOf(sessions, parts))
          : sessions.withToken(draft, accountId, token);
        const grant = session && grantIn(session);
        const isTheirs = grant !== undefined && (clientId === "" || isSame(grant.client, clientKey(clientId)));
        if (session?.account_id === accountId && isTheirs && (!parts || isSame(grant.family, hashOf(parts.family)))) {
          draft.delete(session);
        }
        // RFC 7009 §2.2: an unknown token is not an error.
        return { name: "done" };
      }),
  };
}

function refuseGrant(error: string, description: string): { readonly name: "refused" } & AuthorizationError {
  return { name: "refused", error, description };
}

function idOf({ idPrefix }: GrantedSessions, { digits }: GrantToken): string {
  return `${idPrefix}_${digits}`;
}

export function grantIn({ doc }: StoredObject): StoredGrant | undefined {
  const text = doc["grant"];
  return typeof text === "string" && text !== "" ? (JSON.parse(text) as StoredGrant) : undefined;
}

/** Finds the login of a code or refresh token. A used one ends the login. */
function findLogin(
  sessions: GrantedSessions,
  draft: Draft,
  accountId: string,
  stage: "code" | "refresh",
  token: GrantToken | undefined,
) {
  const unknown = refuseGrant(
    "invalid_grant",
    stage === "code" ? "the code is not valid" : "the refresh token is not valid",
  );
  const session = token && draft.get(accountId, sessions.kind, idOf(sessions, token));
  const grant = session && grantIn(session);
  if (!token || !session || !grant || grant.family === undefined) return unknown;
  if (!isSame(grant.family, hashOf(token.family))) return unknown;
  if (grant.stage === stage && isSame(grant.secret, hashOf(token.secret)))
    return { session, grant, family: token.family };
  draft.delete(session);
  return unknown;
}

function isResource(resource: string, grant: StoredGrant): boolean {
  return resource === "" || URL.parse(resource)?.href === grant.resource;
}

/** Whether the person has confirmed this client for this route and these scopes before, and nobody has revoked it. */
function isKnown(draft: Draft, accountId: string, session: StoredObject, approval: Approval): boolean {
  const userId = String(session.doc["application_user_id"]);
  const { objects } = draft.page(accountId, sessionKind, { limit: maxCompared, parentId: userId });
  return objects.some((one) => {
    const grant = grantIn(one);
    return (
      grant?.stage === "refresh" &&
      grant.client === approval.clientId &&
      grant.redirectUri === approval.redirectUri &&
      grant.audience === approval.audience &&
      approval.scopes.every((scope) => grant.scopes.includes(scope))
    );
  });
}

function storeGrant(draft: Draft, session: StoredObject, grant: StoredGrant, more: object = {}): void {
  draft.replace(session, { ...session.doc, ...more, grant: JSON.stringify(grant) });
}

/** Replaces both tokens. The former ones are invalid from now on. */
function issueTokens(
  sessions: GrantedSessions,
  draft: Draft,
  session: StoredObject,
  grant: StoredGrant,
  family: string,
  clock: Clock,
): AuthorizationAnswer {
  const now = clock.now();
  const accessToken = newAccessToken();
  const refresh = newGrantToken("refresh", session.id, family);
  const days = now + grant.refreshTokenDays * dayMs;
  const endsAt = grant.latest > 0 ? Math.min(days, grant.latest) : days;
  storeGrant(
    draft,
    session,
    { ...grant, stage: "refresh", issuedAt: now, secret: refresh.secretHash },
    sessions.renewed(accessToken, endsAt),
  );
  return {
    name: "tokens",
    accessToken,
    refreshToken: refresh.text,
    expiresIn: grant.accessTokenMinutes * 60,
    scopes: grant.scopes,
  };
}
