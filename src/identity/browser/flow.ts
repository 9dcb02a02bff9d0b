/**
 * A login in progress, which the server does not store. `state` travels to the provider and back and identifies the
 * route. The flow cookie stays in the browser and holds the secrets of the flow.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { takeRandomBytes } from "../../lib/random-bytes.ts";
import type { FlowSealer } from "./flow-sealing.ts";

/** The content of `state`, which the provider returns. */
export interface FlowState {
  /** Base64url of 128 bits. */
  readonly id: string;
  readonly host: string;
  readonly realm: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** The content of the flow cookie, which only the browser that started the login has. */
export interface Flow {
  readonly id: string;
  readonly routeId: string;
  /** PKCE's code verifier (RFC 7636 §4.1). */
  readonly verifier: string;
  readonly nonce: string;
  /** Path and query on the same host. */
  readonly returnPath: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Number of earlier logins after which the session cookie did not arrive. */
  readonly tries: number;
  /** Whether the visitor must have entered credentials after `startedAt`. */
  readonly anew: boolean;
  /** Id of the authorization of a client that is not a browser; absent for a visit. */
  readonly authorization?: string | undefined;
}

/** Time limit for the visitor at the provider, milliseconds. */
export const flowMs = 15 * 60_000;
/** Tolerance for another edge's clock that is ahead. */
const aheadMs = 60_000;
const stateAbout = "login state";
/** Longer texts cannot be ours, and are rejected without trying each key. */
const maxSealed = 4096;

export function newFlow(
  known: Pick<Flow, "routeId" | "returnPath" | "tries" | "anew" | "authorization">,
  nowMs: number,
): Flow {
  return {
    id: takeRandomBytes(16).toString("base64url"),
    verifier: takeRandomBytes(32).toString("base64url"),
    nonce: takeRandomBytes(16).toString("base64url"),
    startedAt: nowMs,
    ...known,
  };
}

export function sealState({ id, host, realm, startedAt }: FlowState, sealer: FlowSealer): string {
  return sealer.seal([id, host, realm, startedAt.toString(36)].join(" "), stateAbout);
}

/** Returns undefined for a state that was not sealed by this server. */
export function openState(
  text: string,
  sealer: FlowSealer,
  nowMs: number,
): (FlowState & { readonly isLate: boolean }) | undefined {
  const opened = text.length > maxSealed ? undefined : sealer.open(text, stateAbout);
  if (opened === undefined) return undefined;
  const [id = "", host = "", realm = "", time = ""] = opened.split(" ");
  const startedAt = Number.parseInt(time, 36);
  return { id, host, realm, startedAt, isLate: !isFresh(startedAt, nowMs) };
}

/** The name of the cookie of a flow. */
export function flowCookieName(prefix: string, flowId: string): string {
  return prefix + flowId.slice(0, 6);
}

export function sealFlow(flow: Flow, host: string, cookie: string, sealer: FlowSealer): string {
  const { id, routeId, verifier, nonce, returnPath, startedAt, tries, anew, authorization } = flow;
  return sealer.seal(
    JSON.stringify([id, routeId, verifier, nonce, startedAt, tries, anew, returnPath, authorization]),
    `${host} ${cookie}`,
  );
}

/** Returns undefined for a cookie of another host or name. Its maximum age is that of the state that came with it. */
export function openFlow(value: string, host: string, cookie: string, sealer: FlowSealer): Flow | undefined {
  const opened = value.length > maxSealed ? undefined : sealer.open(value, `${host} ${cookie}`);
  if (opened === undefined) return undefined;
  const [id, routeId, verifier, nonce, startedAt, tries, anew, returnPath, authorization] = JSON.parse(opened) as [
    string,
    string,
    string,
    string,
    number,
    number,
    boolean,
    string,
    string | null | undefined,
  ];
  const flow = { id, routeId, verifier, nonce, startedAt, tries, anew, returnPath };
  return authorization ? { ...flow, authorization } : flow;
}

export function sameId(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The code challenge for a verifier (RFC 7636 §4.2). */
export function challengeOf(verifier: string): string {
  return hash("sha256", verifier, "base64url");
}

function isFresh(startedAt: number, nowMs: number): boolean {
  return startedAt <= nowMs + aheadMs && nowMs - startedAt <= flowMs;
}
