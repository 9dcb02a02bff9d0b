/** `inCidrRange`, `inCidrRanges`, `isPrivateIp`, `lower`, `upper`. */
import { defineFunction, defineMember, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/function-declarations.ts";
import { listOf, types } from "../../cel/checking/cel-types.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import { parseCidr, readAddress } from "../../lib/address.ts";
import type { Network } from "../../lib/address.ts";

const { string, bool } = types;
const words = new Uint32Array(4);

/** Whether the network contains the address; false if either is invalid. */
export function isInNetwork(address: string, network: Network | undefined): boolean {
  if (!network) return false;
  const family = readAddress(address, words);
  if (family !== network.family) return false;
  return isOrdered(network.first, words, family) && isOrdered(words, network.last, family);
}

function isOrdered(one: ArrayLike<number>, other: ArrayLike<number>, family: 4 | 6): boolean {
  for (let at = 0; at < (family === 4 ? 1 : 4); at += 1) {
    if (one[at] !== other[at]) return (one[at] as number) < (other[at] as number);
  }
  return true;
}

/** Constant networks are parsed together with the expression. */
function prepareRange([, cidr]: readonly unknown[]) {
  if (typeof cidr !== "string") return undefined;
  const network = parseCidr(cidr);
  return (address: string, _cidr: string, run: Run): Result => run.spend(1) ?? isInNetwork(address, network);
}

const inRange = (address: string, cidr: string, run: Run): Result =>
  run.spend(2) ?? isInNetwork(address, parseCidr(cidr.slice(0, 64)));

const inRanges = (address: string, cidrs: readonly Value[], run: Run): Result =>
  run.spend(2 * cidrs.length) ??
  cidrs.some((cidr) => typeof cidr === "string" && isInNetwork(address, parseCidr(cidr.slice(0, 64))));

const privateNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(parseCidr);

export const addressFunctions: readonly FunctionDeclaration[] = [
  defineFunction(
    "inCidrRange",
    defineOverload("in_cidr_range", [string, string], bool, inRange, { prepare: prepareRange }),
  ),
  defineFunction("inCidrRanges", defineOverload("in_cidr_ranges", [string, listOf(string)], bool, inRanges)),
  defineFunction(
    "isPrivateIp",
    defineMember("is_private_ip", [string], bool, (address: string) =>
      privateNetworks.some((network) => isInNetwork(address, network)),
    ),
  ),
  defineFunction(
    "lower",
    defineMember(
      "string_lower",
      [string],
      string,
      (text: string, run: Run) => run.makeText(text.length) ?? text.toLowerCase(),
    ),
  ),
  defineFunction(
    "upper",
    defineMember(
      "string_upper",
      [string],
      string,
      (text: string, run: Run) => run.makeText(text.length) ?? text.toUpperCase(),
    ),
  ),
];
