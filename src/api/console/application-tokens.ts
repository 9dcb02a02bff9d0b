/** Codes and tokens of applications that people connect to `/mcp`. */
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { minuteMs } from "../../lib/durations.ts";
import { Refusal } from "../../lib/errors.ts";
import { hashToken } from "../../lib/tokens.ts";
import type { AuthorizationAnswer, AuthorizationQuestion } from "../../identity/machines/authorization-questions.ts";
import { consoleGrantSpace, consoleSession, consoleTokenSpace } from "../../resources/console-session.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { clientKeyOf } from "../authorization/book.ts";
import { registerClient } from "../authorization/clients.ts";
import { grantIn } from "../authorization/grants.ts";
import type { GrantedSessions, Grants } from "../authorization/grants.ts";
import { hashOf, readGrantToken } from "../authorization/stored-grant.ts";
import type { Key } from "../http/authenticate.ts";
import { registrationRealm } from "./access-requests.ts";
import type { ConsoleSessions } from "./console-sessions.ts";
import type { OpenSession } from "./open-session.ts";
import type { Team } from "./team.ts";

/** An application with a valid access token. */
export interface ApplicationAccess {
  /** Its own name, which the person has seen. */
  readonly client: string;
  readonly scopes: readonly string[];
  /** The person's permissions now. */
  readonly key: Key;
}

export interface ApplicationTokens {
  /** Answers a program at the token, registration or revocation endpoint. */
  answer(question: AuthorizationQuestion): Promise<AuthorizationAnswer>;
  /** Returns the application of a token, at any node. Rejects with `Refusal` if the token is not valid now. */
  find(token: string): Promise<ApplicationAccess>;
}

interface ApplicationTokensOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessions: Pick<ConsoleSessions, "current">;
  readonly team: Pick<Team, "checks"> | undefined;
  readonly grants: Grants;
}

const kind = consoleSession.name;

export const consoleSessions: GrantedSessions = {
  kind,
  idPrefix: consoleSession.idPrefix,
  withToken: (reader, _accountId, accessToken) => reader.holder("", consoleTokenSpace, tokenHash(accessToken)),
  renewed: (accessToken, endsAtMs) => ({ token_hash: tokenHash(accessToken), expires_at: formatTimestamp(endsAtMs) }),
  endOf: (session) => Date.parse(docOf(session, consoleSession).expires_at ?? ""),
};

export function makeApplicationTokens(options: ApplicationTokensOptions): ApplicationTokens {
  const { store, clock, sessions, team, grants } = options;
  /** Another node may have just changed it, so every text that is not known here costs a read of the database. */
  const held = async (space: string, name: string): Promise<StoredObject | undefined> => {
    const found = store.holder("", space, name);
    if (found || !store.node) return found;
    await store.refresh();
    return store.holder("", space, name);
  };
  /** Returns the session with its rights. A check with the identity provider is made first if it is due. */
  const usable = async (object: StoredObject): Promise<OpenSession | undefined> => {
    await team?.checks.due(object);
    const present = store.get(object.account_id, kind, object.id);
    try {
      return present && sessions.current(present);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  };
  const ofGrantToken = async (stage: "code" | "refresh", text: string): Promise<StoredObject | undefined> => {
    const token = readGrantToken(stage, text);
    return token && (await held(consoleGrantSpace, hashOf(token.family)));
  };
  return {
    async answer(question) {
      switch (question.name) {
        case "register":
          return registerClient(registrationRealm, question, clientKeyOf(store), clock.now());
        case "exchange":
        case "refresh": {
          const text = question.name === "exchange" ? question.code : question.token;
          const found = await ofGrantToken(question.name === "exchange" ? "code" : "refresh", text);
          // A person without access gets no new tokens.
          if (!found || !(await usable(found))) return unknownGrant;
          return question.name === "exchange"
            ? await grants.exchange(found.account_id, question)
            : await grants.refresh(found.account_id, question);
        }
        case "revoke": {
          const found =
            (await ofGrantToken("refresh", question.token)) ??
            (await held(consoleTokenSpace, tokenHash(question.token)));
          return found ? await grants.revoke(found.account_id, question) : { name: "done" };
        }
        default:
          return unknownGrant;
      }
    },
    async find(token) {
      const object = await held(consoleTokenSpace, tokenHash(token));
      const session = object && (await usable(object));
      const grant = session && grantIn(session.object);
      if (!session || !grant || grant.issuedAt + grant.accessTokenMinutes * minuteMs <= clock.now()) {
        throw new Refusal("access_token_ended");
      }
      return { client: grant.name, scopes: grant.scopes, key: session.key };
    },
  };
}

const unknownGrant: AuthorizationAnswer = {
  name: "refused",
  error: "invalid_grant",
  description: "the code or token is not valid",
};

function tokenHash(token: string): string {
  return hashToken(token).toString("hex");
}
