/**
 * RelayState and request ids, which identify a flow without server state: both return with the response, protected by a
 * MAC. The identity provider and the visitor can read them, so they contain no secrets. RelayState is short: a host
 * that does not fit is in the request's id instead, which returns as `InResponseTo`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

export type RelayPurpose = "login" | "logout";

export interface Relay {
  /** 128 bits in base64url: 22 characters. */
  readonly flowId: string;
  /** Identifies the host of the edge to continue at: six characters of its hash, or its labels under a wildcard. */
  readonly host: string;
  /** When the request was sent, milliseconds since 1970; stored in whole seconds. */
  readonly sentMs: number;
}

export interface RelayFor {
  readonly purpose: RelayPurpose;
  readonly routeId: string;
}

export interface RelayRead extends Omit<Relay, "host"> {
  /** Returns the host if `id` is the `ID` of the request sent with this RelayState; otherwise undefined. */
  hostBy(id: string | undefined): string | undefined;
}

/** Limit of saml-bindings §3.4.3 and §3.5.3, bytes. */
const maxRelayBytes = 80;
/** Seconds are counted from 2020, so that six base-36 digits last until 2088. */
const epochMs = Date.UTC(2020, 0, 1);
const timeDigits = 6;
/** 96 bits of the MAC: attacks are possible only online, and space is scarce. */
const macLength = 16;
const shape = /^([A-Za-z0-9_-]{22})([0-9a-z]{6})([A-Za-z0-9_-]{16})([a-z0-9._-]{1,36})$/;

/** Maximum length of a host inside RelayState. */
export const maxRelayHost = maxRelayBytes - 22 - timeDigits - macLength;
/** Replaces a longer host. */
const elsewhere = "_";
const longId = /^_[0-9a-f]{64}\.([a-z0-9._-]{37,260})$/;

/** Throws if a value does not have its form. */
export function makeRelay(relay: Relay, to: RelayFor, key: Buffer): string {
  const time = Math.floor((relay.sentMs - epochMs) / 1000)
    .toString(36)
    .padStart(timeDigits, "0");
  const host = isLong(relay.host) ? elsewhere : relay.host;
  const text = `${relay.flowId}${time}${macOf(relay.flowId, time, host, to, key)}${host}`;
  const fits = time.length === timeDigits && shape.test(text);
  if (!fits) throw new Error("make RelayState: the flow's id, time or host has not the form that fits");
  return text;
}

/** Returns a relay that was sent under one of the keys for this purpose and route; undefined for any other text. */
export function readRelay(text: string, to: RelayFor, keys: readonly Buffer[]): RelayRead | undefined {
  const [, flowId, time, mac, host] = shape.exec(text) ?? [];
  if (flowId === undefined || time === undefined || mac === undefined || host === undefined) return undefined;
  for (const key of keys) {
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(flowId, time, host, to, key)))) continue;
    const sentMs = epochMs + Number.parseInt(time, 36) * 1000;
    return {
      flowId,
      sentMs,
      hostBy(id) {
        const own = host === elsewhere ? longId.exec(id ?? "")?.[1] : host;
        return own !== undefined && id === requestIdOf({ flowId, host: own }, to, key) ? own : undefined;
      },
    };
  }
  return undefined;
}

/** The `ID` of the flow's request. No one can create a response to a request that we did not send. */
export function requestIdOf({ flowId, host }: Omit<Relay, "sentMs">, to: RelayFor, key: Buffer): string {
  const own = isLong(host) ? `.${host}` : "";
  const text = `saml-request\0${to.purpose}\0${to.routeId}\0${flowId}${own}`;
  return `_${createHmac("sha256", key).update(text).digest("hex")}${own}`;
}

function isLong(host: string): boolean {
  return host.length > maxRelayHost;
}

function macOf(flowId: string, time: string, host: string, to: RelayFor, key: Buffer): string {
  const text = `saml-relay\0${to.purpose}\0${to.routeId}\0${flowId}${time}${host}`;
  return createHmac("sha256", key).update(text).digest("base64url").slice(0, macLength);
}
