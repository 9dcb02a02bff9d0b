/** A valid login. Every edge has a record of it, found only by the hash of its cookie. */
import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { FieldBlock } from "../../lib/field-block.ts";
import { takeRandomBytes } from "../../lib/random-bytes.ts";
import type { Visitor } from "../../traffic/visitor.ts";
import type { Step } from "../../traffic/step.ts";
import type { Identity } from "../calls/identity.ts";
import type { Grant } from "./grant.ts";
import type { Verdict } from "./login-verdict.ts";

/** The stored part, which every edge receives. */
export interface SessionRecord {
  /** Public id, `appses_…`. */
  readonly id: string;
  readonly accountId: string;
  /** `appusr_…`. The edge generates one until the control plane determines the user. */
  readonly userId: string;
  /** SHA-256 of the cookie, or of the access token, base64url. */
  readonly cookieHash: string;
  readonly realm: string;
  /** Prefix of its cookie's name; undefined if an older version made the session. */
  readonly cookiePrefix?: string | undefined;
  readonly host: string;
  readonly siteId: string;
  readonly routeId: string;
  readonly providerName: string;
  readonly providerUrl: string;
  readonly clientId: string;
  /** Milliseconds since 1970. */
  readonly loginAt: number;
  readonly lastActive: number;
  readonly checkedAt: number;
  readonly scopes: readonly string[];
  readonly identity: Identity;
  /** Each is "" if there is none, or nothing needs it. */
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
  /**
   * From the route at which the login was made, seconds; 0 means unlimited. Shown by the API, while each route applies
   * its own value.
   */
  readonly maximumDuration: number;
  readonly inactivityTimeout: number;
  /** The provider's limit, milliseconds since 1970; absent or 0 if there is none. */
  readonly endsAt?: number;
  /** For a client that is not a browser; absent for a browser. */
  readonly grant?: Grant | undefined;
}

/** Result of a check with the provider. `unchecked` if the provider has been unreachable for longer than tolerated. */
export type CheckOutcome = "ok" | "ended" | "unchecked";

/** Both clocks. */
export type ClockTimes = Pick<Clock, "now" | "monotonic">;

/** The signed assertion about the session for a service. */
export interface KeptAssertion {
  readonly routeId: string;
  text: string;
  /** All header fields, made from the session's `fields` and this text. */
  block: FieldBlock | undefined;
  blockOf: readonly string[] | undefined;
  /** Monotonic time, milliseconds. */
  madeAt: number;
  making: Promise<KeptAssertion | undefined> | undefined;
}

/** A class, because there are many sessions and each request uses one. */
export class Session {
  record: SessionRecord;
  /** Last use and start on both the wall and the monotonic clock. The later one counts (S7). */
  lastActive: number;
  lastActiveMono: number;
  /** In whole seconds, rounded up, because larger numbers are stored as objects. */
  readonly loginMono: number;
  checkedAt: number;
  checkedMono: number;
  /** The session was revoked, logged out, or replaced. */
  ended = false;
  /** Used since the last report to the control plane. */
  isDirty = false;
  /** Guard and result of the last verdict, computed again when the configuration changes. */
  judgedBy: object | undefined;
  verdict: Verdict | undefined;
  /** The verdict that was last reported to subscribers. */
  toldOf: Verdict | undefined;
  /** The resulting step, cached for the next request. */
  passedStep: Step | undefined;
  fields: readonly string[] | undefined;
  visitor: Visitor | undefined;
  /** By route; undefined while nothing needs one. */
  assertions: KeptAssertion[] | undefined;
  /** A check in progress, shared by all waiting requests. */
  checking: Promise<CheckOutcome> | undefined;
  /** Resolves with a check that another edge makes. */
  #checkedElsewhere: PromiseWithResolvers<void> | undefined;
  /** Since when the provider has been unreachable (monotonic); undefined if it is reachable. */
  uncheckedSince: number | undefined;
  retryAt = 0;

  /** @param clock clock readings at arrival */
  constructor(record: SessionRecord, clock: ClockTimes) {
    this.record = record;
    const [now, mono] = [clock.now(), clock.monotonic()];
    this.lastActive = record.lastActive;
    this.lastActiveMono = mono - Math.max(0, now - record.lastActive);
    this.loginMono = secondsUp(mono - Math.max(0, now - record.loginAt));
    this.checkedAt = record.checkedAt;
    this.checkedMono = secondsUp(mono - Math.max(0, now - record.checkedAt));
  }

  get id(): string {
    return this.record.id;
  }

  /** Age in milliseconds, by the clock that gives the larger value. */
  age(clock: ClockTimes): number {
    return Math.max(clock.now() - this.record.loginAt, clock.monotonic() - this.loginMono * 1000);
  }

  /** Whether either clock has reached the provider's limit. */
  isBeyond(clock: ClockTimes): boolean {
    const { endsAt = 0, loginAt } = this.record;
    return endsAt > 0 && this.age(clock) >= endsAt - loginAt;
  }

  idle(clock: ClockTimes): number {
    return Math.max(clock.now() - this.lastActive, clock.monotonic() - this.lastActiveMono);
  }

  sinceCheck(clock: Clock): number {
    return Math.max(clock.now() - this.checkedAt, clock.monotonic() - this.checkedMono * 1000);
  }

  touch(clock: Clock): void {
    this.lastActive = clock.now();
    this.lastActiveMono = clock.monotonic();
    this.isDirty = true;
  }

  /** Applies a use or check that another edge reported, so that this edge need not repeat the check. */
  heardOf({ lastActive: usedAt, checkedAt }: Pick<SessionRecord, "lastActive" | "checkedAt">, clock: Clock): void {
    const since = (at: number): number => clock.monotonic() - Math.max(0, clock.now() - at);
    if (usedAt > this.lastActive) {
      this.lastActive = usedAt;
      this.lastActiveMono = Math.max(this.lastActiveMono, since(usedAt));
    }
    if (checkedAt <= this.checkedAt) return;
    this.checkedAt = checkedAt;
    this.checkedMono = secondsUp(since(checkedAt));
    this.uncheckedSince = undefined;
    this.#checkedElsewhere?.resolve();
    this.#checkedElsewhere = undefined;
  }

  /** Applies the result of a check with the provider. */
  checked(
    identity: Identity,
    tokens: Pick<SessionRecord, "accessToken" | "refreshToken" | "idToken">,
    clock: Clock,
  ): void {
    this.checkedAt = clock.now();
    this.checkedMono = secondsUp(clock.monotonic());
    this.uncheckedSince = undefined;
    this.replace({ ...this.record, identity, ...tokens, checkedAt: this.checkedAt });
  }

  /** Resolves with the next check that another edge reports. */
  nextCheckAway(): Promise<void> {
    return (this.#checkedElsewhere ??= Promise.withResolvers<void>()).promise;
  }

  /** Age of the access token in milliseconds, by the clock that gives the larger value. */
  tokenAge(clock: ClockTimes, issuedAt: number): number {
    return this.age(clock) - (issuedAt - this.record.loginAt);
  }

  replace(record: SessionRecord): void {
    this.record = record;
    this.judgedBy = undefined;
    this.visitor = undefined;
  }
}

/** Rounds up to whole seconds. */
export function secondsUp(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}

/** `p1` and 43 random characters: 256 bits. */
export function newSessionCookie(): string {
  return `p1${takeRandomBytes(32).toString("base64url")}`;
}

export const sessionCookieLength = 45;

export function isSessionCookie(value: string): boolean {
  return value.length === sessionCookieLength && /^p1[\w-]{43}$/.test(value);
}

const accessTokenPrefix = "postern_oa_";
export const accessTokenLength = accessTokenPrefix.length + 43;

/** The prefix lets scanners find leaked tokens. The rest has 256 random bits. */
export function newAccessToken(): string {
  return accessTokenPrefix + takeRandomBytes(32).toString("base64url");
}

export function isAccessToken(value: string): boolean {
  return value.length === accessTokenLength && /^postern_oa_[\w-]{43}$/.test(value);
}

export function cookieHash(value: string): string {
  return hash("sha256", value, "base64url");
}
