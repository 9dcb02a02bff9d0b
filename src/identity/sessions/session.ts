/** A login that holds: one record on every edge, found by the hash of the cookie alone. */
import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { FieldBlock } from "../../lib/field-block.ts";
import { chance } from "../../lib/random-bytes.ts";
import type { Visitor } from "../../traffic/login.ts";
import type { Step } from "../../traffic/step.ts";
import type { Identity } from "../calls/identity.ts";
import type { Verdict } from "./verdict.ts";

/** What is stored of it, and what every edge gets. */
export interface SessionRecord {
  /** The public id, `appses_…`. */
  readonly id: string;
  readonly accountId: string;
  /** `appusr_…`; of the edge's own making until the control plane has said which one it is. */
  readonly userId: string;
  /** SHA-256 of the cookie, base64url. */
  readonly cookieHash: string;
  readonly realm: string;
  /** What its cookie's name began with; undefined for what an older version has made. */
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
  /** Each "" where there is none, or nothing needs it. */
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
  /** Of the route that it was made at, seconds; 0: unlimited. For what the API shows; each route goes by its own. */
  readonly maximumDuration: number;
  readonly inactivityTimeout: number;
  /** The provider's own bound, milliseconds since 1970; absent or 0: none. */
  readonly endsAt?: number;
}

/** What a check with the provider came to: `unchecked` when it could not be asked for longer than is borne. */
export type CheckOutcome = "ok" | "ended" | "unchecked";

/** What time it is, by both clocks. */
export type Moment = Pick<Clock, "now" | "monotonic">;

/** What a service is told of the session, signed. */
export interface KeptAssertion {
  readonly routeId: string;
  text: string;
  /** The whole of it as fields, made of the session's `fields` and this text. */
  block: FieldBlock | undefined;
  blockOf: readonly string[] | undefined;
  /** On the monotonic clock, milliseconds. */
  madeAt: number;
  making: Promise<KeptAssertion | undefined> | undefined;
}

/** A class, because there are many and each request touches one. */
export class Session {
  record: SessionRecord;
  /** Wall and monotonic clock when it was last used and when it began: whichever says later, counts (S7). */
  lastActive: number;
  lastActiveMono: number;
  /** In whole seconds, upwards: numbers beyond integers take an object each. */
  readonly loginMono: number;
  checkedAt: number;
  checkedMono: number;
  /** It may not be used any more: revoked, logged out, or replaced. */
  ended = false;
  /** Used since the control plane was last told. */
  isDirty = false;
  /** Who judged it last, and what that said: made anew when the configuration is. */
  judgedBy: object | undefined;
  verdict: Verdict | undefined;
  /** The one that those who are subscribed to refusals were told of. */
  toldOf: Verdict | undefined;
  /** What follows from both, kept for the next request. */
  passedStep: Step | undefined;
  fields: readonly string[] | undefined;
  visitor: Visitor | undefined;
  /** By route; none while nothing asks for it. */
  assertions: KeptAssertion[] | undefined;
  /** A check under way: everybody who waits for it waits for the same. */
  checking: Promise<CheckOutcome> | undefined;
  /** Waits for a check that another edge makes. */
  #checkedElsewhere: PromiseWithResolvers<void> | undefined;
  /** The provider could not be asked since then (monotonic); undefined: it could. */
  uncheckedSince: number | undefined;
  retryAt = 0;

  /** @param clock of when it came here */
  constructor(record: SessionRecord, clock: Moment) {
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

  /** Milliseconds since it began, by the clock that says more. */
  age(clock: Moment): number {
    return Math.max(clock.now() - this.record.loginAt, clock.monotonic() - this.loginMono * 1000);
  }

  /** Whether the provider's bound is reached, by the clock that says so first. */
  isBeyond(clock: Moment): boolean {
    const { endsAt = 0, loginAt } = this.record;
    return endsAt > 0 && this.age(clock) >= endsAt - loginAt;
  }

  idle(clock: Moment): number {
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

  /** Another edge tells of a use, or of a check that this one then need not make as well. */
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

  /** The provider was asked, and says this. */
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

  /** Resolves with the next check that another edge tells of. */
  nextCheckAway(): Promise<void> {
    return (this.#checkedElsewhere ??= Promise.withResolvers<void>()).promise;
  }

  replace(record: SessionRecord): void {
    this.record = record;
    this.judgedBy = undefined;
    this.visitor = undefined;
  }
}

/** Not before `milliseconds`. */
export function secondsUp(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}

/** `p1` and 43 characters of chance: 256 bits. */
export function newSessionCookie(): string {
  return `p1${chance(32).toString("base64url")}`;
}

export const sessionCookieLength = 45;

export function isSessionCookie(value: string): boolean {
  return value.length === sessionCookieLength && /^p1[\w-]{43}$/.test(value);
}

export function cookieHash(value: string): string {
  return hash("sha256", value, "base64url");
}
