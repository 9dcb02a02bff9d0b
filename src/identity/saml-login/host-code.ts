/**
 * Encodes the host of a login in RelayState. Space is scarce: an exact host of the edge becomes its hash, and a host
 * under a wildcard becomes its labels and the wildcard's hash.
 */
import { hash } from "node:crypto";
import { hostMatches } from "../../lib/hostport.ts";

const hostDigits = 6;
const wildcardDigits = 3;

/** Returns undefined for a host that none of the hosts covers. */
export function hostCodeOf(host: string, hosts: readonly string[]): string | undefined {
  if (hosts.includes(host)) return encodeDigits(host, hostDigits);
  const wildcard = hosts.find((one) => one.startsWith("*.") && hostMatches(one, host));
  if (wildcard === undefined) return undefined;
  return `${host.slice(0, 1 - wildcard.length)}.${encodeDigits(wildcard, wildcardDigits)}`;
}

/** Returns the host for a code, among the edge's present hosts. */
export function hostOfCode(code: string, hosts: readonly string[]): string | undefined {
  const dot = code.lastIndexOf(".");
  if (dot < 0) return hosts.find((one) => !one.startsWith("*.") && encodeDigits(one, hostDigits) === code);
  const wildcard = hosts.find(
    (one) => one.startsWith("*.") && encodeDigits(one, wildcardDigits) === code.slice(dot + 1),
  );
  return wildcard === undefined ? undefined : `${code.slice(0, dot)}${wildcard.slice(1)}`;
}

/** Base-36 digits of SHA-256. */
function encodeDigits(text: string, count: number): string {
  return BigInt(`0x${hash("sha256", text, "hex")}`)
    .toString(36)
    .slice(-count);
}
