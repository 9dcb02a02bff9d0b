/** Cases beside a policy: a request, and what is to come of it (guides/policies.md, "Tests"). */
import type { JsonObject } from "../lib/json.ts";
import { internalHostOf } from "./language/internal-url.ts";
import type { CompiledPolicy } from "./compiled.ts";
import { simulate } from "./simulate.ts";
import type { Simulated, SimulatedRequest } from "./simulate.ts";

export interface CaseResult {
  readonly name: string;
  /** What is not as expected, one clause each; empty when everything is. */
  readonly wrong: readonly string[];
  /** The trace, for whoever looks why. */
  readonly trace: readonly string[];
}

export async function runCase(policy: CompiledPolicy, given: JsonObject, index: number): Promise<CaseResult> {
  const name = typeof given["name"] === "string" ? given["name"] : `case ${index + 1}`;
  const outcome = await simulate(policy, requestOf(given));
  const trace = outcome.steps.map(({ outcome: how, reason }) => `${how}: ${reason}`);
  return { name, wrong: differences(given, outcome), trace };
}

function requestOf(given: JsonObject): SimulatedRequest {
  const request = objectOf(given["request"]);
  const answer = objectOf(given["upstream_answer"]);
  return {
    method: textOr(request["method"], "GET"),
    host: textOr(request["host"], "shop.example.test"),
    target: textOr(request["target"], "/"),
    headers: headersOf(request["headers"]),
    body: textOr(request["body"], ""),
    client: textOr(given["client"], "203.0.113.9"),
    online: Object.keys(objectOf(given["online"])).flatMap((url) => internalHostOf(url) ?? []),
    random: typeof given["rand"] === "number" ? given["rand"] : 0.5,
    answer: {
      status: typeof answer["status"] === "number" ? answer["status"] : 200,
      headers: [["content-type", "text/plain"], ...headersOf(answer["headers"])],
      body: textOr(answer["body"], "up"),
    },
  };
}

function differences(given: JsonObject, { status, headers, body, upstream, forwardedTo }: Simulated): string[] {
  const wanted = objectOf(given["response"]);
  const found: string[] = [];
  const differ = (what: string, is: unknown, want: unknown): void => {
    found.push(`${what} is ${JSON.stringify(is)}, expected ${JSON.stringify(want)}`);
  };
  // What an internal endpoint answers is not of this policy.
  if (wanted["status"] !== undefined && status !== wanted["status"]) differ("status", status, wanted["status"]);
  if (wanted["body"] !== undefined && body !== undefined && body !== wanted["body"])
    differ("body", body, wanted["body"]);
  found.push(...headerDifferences("header", headers, wanted["headers"]));
  if (given["forwarded_to"] !== undefined && given["forwarded_to"] !== forwardedTo)
    differ("forwarded_to", forwardedTo ?? null, given["forwarded_to"]);
  if (given["upstream"] === "none") {
    if (upstream) found.push("the upstream is reached");
    return found;
  }
  const seen = objectOf(given["upstream"]);
  if (Object.keys(seen).length === 0) return found;
  if (!upstream) return [...found, "the upstream is not reached"];
  if (seen["target"] !== undefined && upstream.target !== seen["target"])
    differ("upstream target", upstream.target, seen["target"]);
  return [...found, ...headerDifferences("upstream header", upstream.headers, seen["headers"])];
}

function headerDifferences(what: string, pairs: Simulated["headers"], wanted: unknown): string[] {
  return Object.entries(objectOf(wanted)).flatMap(([name, want]) => {
    const values = pairs.filter(([present]) => present === name.toLowerCase()).map(([, value]) => value);
    const is = values.length === 0 ? null : values.join(", ");
    return is === want ? [] : [`${what} ${name} is ${JSON.stringify(is)}, expected ${JSON.stringify(want)}`];
  });
}

function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function textOr(value: unknown, other: string): string {
  return typeof value === "string" ? value : other;
}

function headersOf(value: unknown): (readonly [string, string])[] {
  return Object.entries(objectOf(value)).map(([name, one]) => [name.toLowerCase(), String(one)] as const);
}
