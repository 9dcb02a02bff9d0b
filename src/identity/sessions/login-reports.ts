/** Messages about logins between an edge and the control plane. No request waits long for them. */
import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { MetadataAddress } from "../saml/metadata/metadata-address.ts";
import type { AuthorizationAnswer, AuthorizationQuestion } from "../machines/authorization-questions.ts";
import type { SessionRecord } from "./login-session.ts";

/** The visitor's browser at login. */
export interface LoginBrowser {
  readonly userAgent: string;
  readonly address: string;
  readonly publicUrl: string;
}

/** Edge → control plane. */
export type LoginReport =
  | { readonly type: "login"; readonly call: number; readonly session: SessionRecord; readonly browser: LoginBrowser }
  | { readonly type: "login_activity"; readonly used: readonly LoginUse[] }
  /** Service tokens that were used since the last report. */
  | { readonly type: "token_activity"; readonly used: readonly LoginUse[] }
  /** Result of a check: a session's new identity and tokens. */
  | { readonly type: "login_renewed"; readonly session: SessionRecord }
  | { readonly type: "logout"; readonly accountId: string; readonly sessionIds: readonly string[] }
  /** Answered by `message_claimed`. `untilMs`: when the message becomes invalid anyway. */
  | {
      readonly type: "message_claim";
      readonly call: number;
      readonly accountId: string;
      /** SHA-256 of the message's identity. */
      readonly key: string;
      readonly untilMs: number;
    }
  /**
   * Requests a new fetch of a provider's metadata; with `address`, for an address that no route names. Answered by
   * `metadata_looked_for`.
   */
  | {
      readonly type: "metadata_wanted";
      readonly call: number;
      readonly accountId: string;
      /** The route, or the name of the login. */
      readonly askedBy: string;
      readonly address?: MetadataAddress;
    }
  /** Answered by `authorization_answered`. */
  | {
      readonly type: "authorization_asked";
      readonly call: number;
      readonly accountId: string;
      readonly question: AuthorizationQuestion;
    }
  /** Answered by `login_found`. */
  | { readonly type: "login_wanted"; readonly call: number; readonly accountId: string; readonly cookieHash: string };

/** `unknown` if the control plane cannot be asked. The message must then be refused. */
export type ClaimOutcome = "first" | "used" | "unknown";

/** Last use in milliseconds since 1970. */
export type LoginUse = readonly [accountId: string, id: string, lastActive: number];

export interface LoginReports {
  /** Resolves with the user's id when the session is stored, or without it after a second. */
  login(session: SessionRecord, browser: LoginBrowser): Promise<void>;
  renewed(session: SessionRecord): void;
  logout(accountId: string, sessionIds: readonly string[]): void;
  activity(used: readonly LoginUse[]): void;
  /** The same for service tokens. */
  tokenActivity(used: readonly LoginUse[]): void;
  /** Asks whether another edge knows the cookie. Always resolves within a short time. */
  wanted(accountId: string, cookieHash: string): Promise<SessionRecord | undefined>;
  /** Resolves with whether the claim is the first at any edge, within a second. */
  claim(accountId: string, name: string, untilMs: number): Promise<ClaimOutcome>;
  /** The same for this edge's own knowledge, when there is no other edge, or no control plane. */
  claimHere(accountId: string, name: string, untilMs: number): Promise<"first" | "used">;
  claimed(call: number, outcome: ClaimOutcome): void;
  /**
   * Requests a new fetch of the provider's metadata. Resolves with whether they changed and are in effect here.
   *
   * @param address set for a login that no route has; the control plane fetches it from now on
   */
  renewMetadata(accountId: string, askedBy: string, address?: MetadataAddress): Promise<boolean>;
  metadataLookedFor(call: number, isNew: boolean): void;
  /** Asks the control plane about a grant. Undefined if it does not answer in time. */
  authorization(accountId: string, question: AuthorizationQuestion): Promise<AuthorizationAnswer | undefined>;
  authorizationAnswered(call: number, answer: AuthorizationAnswer): void;
  /** Whether the control plane has not stored the session yet. */
  isUnstored(id: string): boolean;
  stored(call: number): void;
  found(call: number, session: SessionRecord | undefined): void;
  /** Sends all unanswered messages again after a restart of the control plane. */
  again(): void;
}

const loginWaitMs = 1_000;
const findWaitMs = 100;
const claimWaitMs = 1_000;
/** A little longer than the fetch takes. */
const metadataWaitMs = 6_000;
/** A little longer than the fetch of a client's metadata document and a write take. */
const authorizationWaitMs = 10_000;
/** Maximum number of questions about grants that wait for an answer. */
const maxAuthorizations = 500;
/** Maximum number of logins that wait for an absent control plane (S4). */
const maxUnstored = 10_000;
const maxAskedPerSecond = 50;

/** @param isShared other edges serve the same visitors */
export function makeLoginReports(send: (report: LoginReport) => void, clock: Clock, isShared = false): LoginReports {
  let lastCall = 0;
  const unstored = new Map<number, { readonly report: LoginReport; readonly id: string; done: () => void }>();
  const unstoredIds = new Set<string>();
  const asked = new Map<number, (found: SessionRecord | undefined) => void>();
  const claims = makeQuestions<ClaimOutcome>(clock);
  const renewals = makeQuestions<boolean>(clock);
  const authorizations = makeQuestions<AuthorizationAnswer | undefined>(clock);
  let second = 0;
  let askedThisSecond = 0;

  return {
    async login(session, browser) {
      const call = (lastCall += 1);
      const report: LoginReport = { type: "login", call, session, browser };
      const { promise, resolve } = Promise.withResolvers<void>();
      if (unstored.size < maxUnstored) {
        unstored.set(call, { report, id: session.id, done: resolve });
        unstoredIds.add(session.id);
      }
      send(report);
      const timer = clock.after(loginWaitMs, resolve);
      await promise;
      timer.cancel();
    },
    renewed: (session) => send({ type: "login_renewed", session }),
    logout(accountId, sessionIds) {
      if (sessionIds.length === 0) return;
      send({ type: "logout", accountId, sessionIds });
    },
    activity(used) {
      if (used.length > 0) send({ type: "login_activity", used });
    },
    tokenActivity(used) {
      if (used.length > 0) send({ type: "token_activity", used });
    },
    wanted(accountId, cookieHash) {
      const now = Math.floor(clock.monotonic() / 1000);
      if (now !== second) [second, askedThisSecond] = [now, 0];
      askedThisSecond += 1;
      if (askedThisSecond > maxAskedPerSecond) return Promise.resolve(undefined);
      const call = (lastCall += 1);
      const { promise, resolve } = Promise.withResolvers<SessionRecord | undefined>();
      const timer = clock.after(findWaitMs, () => {
        asked.delete(call);
        resolve(undefined);
      });
      asked.set(call, (found) => {
        timer.cancel();
        resolve(found);
      });
      send({ type: "login_wanted", call, accountId, cookieHash });
      return promise;
    },
    claim(accountId, name, untilMs) {
      const call = (lastCall += 1);
      const outcome = claims.ask(call, claimWaitMs, "unknown");
      send({ type: "message_claim", call, accountId, key: hash("sha256", name, "base64url"), untilMs });
      return outcome;
    },
    async claimHere(accountId, name, untilMs) {
      return isShared && (await this.claim(accountId, name, untilMs)) === "used" ? "used" : "first";
    },
    claimed: (call, outcome) => claims.answer(call, outcome),
    renewMetadata(accountId, askedBy, address) {
      const call = (lastCall += 1);
      const outcome = renewals.ask(call, metadataWaitMs, false);
      send({ type: "metadata_wanted", call, accountId, askedBy, ...(address && { address }) });
      return outcome;
    },
    metadataLookedFor: (call, isNew) => renewals.answer(call, isNew),
    authorization(accountId, question) {
      if (authorizations.size >= maxAuthorizations) return Promise.resolve(undefined);
      const call = (lastCall += 1);
      const answer = authorizations.ask(call, authorizationWaitMs, undefined);
      send({ type: "authorization_asked", call, accountId, question });
      return answer;
    },
    authorizationAnswered: (call, answer) => authorizations.answer(call, answer),
    isUnstored: (id) => unstoredIds.has(id),
    stored(call) {
      const one = unstored.get(call);
      if (!one) return;
      unstored.delete(call);
      unstoredIds.delete(one.id);
      one.done();
    },
    found(call, session) {
      const one = asked.get(call);
      asked.delete(call);
      one?.(session);
    },
    again() {
      for (const { report } of unstored.values()) send(report);
    },
  };
}

/** Questions without an answer yet. */
function makeQuestions<T>(clock: Clock) {
  const waiting = new Map<number, (answer: T) => void>();
  return {
    get size() {
      return waiting.size;
    },
    /** @param otherwise the result if no answer arrives in time */
    async ask(call: number, waitMs: number, otherwise: T): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<T>();
      const timer = clock.after(waitMs, () => resolve(otherwise));
      waiting.set(call, resolve);
      try {
        return await promise;
      } finally {
        timer.cancel();
        waiting.delete(call);
      }
    },
    answer: (call: number, answer: T): void => waiting.get(call)?.(answer),
  };
}
