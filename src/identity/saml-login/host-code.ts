/**
 * How RelayState names the host that a login goes on to. It has little room, so a host that the edge names itself is told
 * by its hash, and one under a wildcard by its labels and the wildcard's hash.
 */
import { hash } from "node:crypto";
import { hostMatches } from "../../lib/hostport.ts";

const hostDigits = 6;
const wildcardDigits = 3;

/** Undefined for a host that none of them covers. */
export function hostCodeOf(host: string, hosts: readonly string[]): string | undefined {
  if (hosts.includes(host)) return digits(host, hostDigits);
  const wildcard = hosts.find((one) => one.startsWith("*.") && hostMatches(one, host));
  if (wildcard === undefined) return undefined;
  return `${host.slice(0, 1 - wildcard.length)}.${digits(wildcard, wildcardDigits)}`;
}

/** The host of a code, among those that the edge has now. */
export function hostOfCode(code: string, hosts: readonly string[]): string | undefined {
  const dot = code.lastIndexOf(".");
  if (dot < 0) return hosts.find((one) => !one.startsWith("*.") && digits(one, hostDigits) === code);
  const wildcard = hosts.find((one) => one.startsWith("*.") && digits(one, wildcardDigits) === code.slice(dot + 1));
  return wildcard === undefined ? undefined : `${code.slice(0, dot)}${wildcard.slice(1)}`;
}

/** Base-36 digits of SHA-256. */
function digits(text: string, count: number): string {
  return BigInt(`0x${hash("sha256", text, "hex")}`)
    .toString(36)
    .slice(-count);
}
