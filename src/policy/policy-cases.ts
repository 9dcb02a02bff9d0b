/**
 * Test cases of a policy: a request or connection, and its expected result (guides/policies.md, "Check and test a
 * policy").
 */
import type { JsonObject } from "../lib/json.ts";
import type { DescribedVisitor } from "../traffic/visitor.ts";
import type { Step } from "../traffic/step.ts";
import { compilePolicy } from "./compile-policy.ts";
import { CaseFault, headersIn, numberIn, objectIn, objectsIn, requireKnown, textIn } from "./case-fields.ts";
import { readInternalUrl } from "../lib/internal-names.ts";
import { internalNameIn } from "./language/internal-url.ts";
import type { Layer } from "./language/action.ts";
import { startSimulation, urlOf } from "./simulate.ts";
import type { Simulated, SimulatedAnswer, SimulatedConnection, SimulatedRequest, Simulation } from "./simulate.ts";

export interface CaseResult {
  readonly name: string;
  /** Differences from the expected result, one clause each; empty if there are none. */
  readonly wrong: readonly string[];
  /** The trace, for debugging. */
  readonly trace: readonly string[];
}

/** Default time of the first case, unless `at` is set. */
const startMs = Date.UTC(2026, 0, 2, 3, 4, 5);

const places: readonly string[] = ["id", "name", "about", "policy", "endpoint", "upstream_answer", "cases"];
const placeKeys: readonly string[] = ["secrets", "key_sets", "online"];
const inputs: readonly string[] = [
  "name",
  "about",
  "at",
  "client",
  "rand",
  "online",
  "request",
  "visitor",
  "upstream_answer",
];
const outcomes: readonly string[] = ["response", "upstream", "forwarded", "forwarded_to", "trace", "result", "event"];

/**
 * Runs the cases in order, on one policy whose state continues from case to case.
 *
 * @throws CaseFault for an invalid test, for a policy that does not compile, or for a case without expectations
 */
export async function runCases(document: JsonObject): Promise<readonly CaseResult[]> {
  requireKnown(document, [...places, ...placeKeys], "the test");
  const endpoint = URL.parse(textIn(document, "endpoint", "https://shop.example.test"));
  const layer = layerOf(endpoint);
  const text =
    typeof document["policy"] === "string" ? document["policy"] : JSON.stringify(objectIn(document, "policy"));
  const { policy, issues } = compilePolicy(text, layer);
  const [first] = issues;
  if (first) throw new CaseFault(`policy: ${first.path} ${first.message}`);
  const cases = document["cases"];
  if (!Array.isArray(cases) || cases.length === 0) throw new CaseFault("the file has no cases");
  const simulation = startSimulation(policy, {
    layer,
    host: endpoint?.hostname ?? "",
    port: Number(endpoint?.port) || 443,
    secrets: objectsIn(document, "secrets") as Readonly<Record<string, Record<string, string>>>,
    keySets: objectsIn(document, "key_sets"),
  });
  const results: CaseResult[] = [];
  for (const [index, one] of (cases as readonly unknown[]).entries()) {
    if (typeof one !== "object" || one === null) throw new CaseFault(`case ${index + 1} is not an object`);
    const whole = { host: endpoint?.hostname, ...document, ...(one as JsonObject) };
    requireKnown(one as JsonObject, [...inputs, ...outcomes, "connect"], `case ${index + 1}`);
    if (!outcomes.some((name) => Object.hasOwn(one, name))) throw new CaseFault(`case ${index + 1} has no expectation`);
    const name = textIn(one as JsonObject, "name", `case ${index + 1}`);
    results.push({ name, ...(await runCase(simulation, layer, whole, one as JsonObject)) });
  }
  return results;
}

function layerOf(endpoint: URL | null): Layer {
  const scheme = endpoint?.protocol.slice(0, -1);
  if (scheme === "https" || scheme === "http") return "http";
  if (scheme === "tls" || scheme === "tcp") return scheme;
  throw new CaseFault("endpoint must be an https://, http://, tls:// or tcp:// URL");
}

async function runCase(
  simulation: Simulation,
  layer: Layer,
  whole: JsonObject,
  one: JsonObject,
): Promise<Pick<CaseResult, "wrong" | "trace">> {
  const request = requestOf(whole);
  if (layer !== "http") {
    const outcome = await simulation.connection(request);
    return {
      wrong: [...connectionDifferences(one, outcome), ...compareCommon(one, outcome)],
      trace: traceOf(outcome.steps),
    };
  }
  const outcome = await simulation.request(request);
  return { wrong: [...compareResult(one, outcome), ...compareCommon(one, outcome)], trace: traceOf(outcome.steps) };
}

function traceOf(steps: readonly Step[]): string[] {
  return steps.map(({ outcome, reason }) => `${outcome}: ${reason}`);
}

function requestOf(object: JsonObject): SimulatedRequest {
  const request = objectIn(object, "request");
  requireKnown(request, ["method", "host", "target", "headers", "body"], "request");
  const at = textIn(object, "at", "0s");
  if (!/^\d{1,9}(?:\.\d{1,3})?s$/.test(at)) throw new CaseFault(`at must be seconds, such as 90s, not "${at}"`);
  return {
    nowMs: startMs + Math.round(Number(at.slice(0, -1)) * 1000),
    method: textIn(request, "method", "GET"),
    host: textIn(request, "host", textIn(object, "host", "shop.example.test")),
    target: textIn(request, "target", "/"),
    headers: headersIn(request),
    body: textIn(request, "body", ""),
    visitor: visitorIn(object),
    client: textIn(object, "client", "203.0.113.9"),
    online: onlineIn(object),
    random: numberIn(object, "rand", 0.5),
    answer: answerOf(objectIn(object, "upstream_answer"), "upstream_answer"),
  };
}

/** Default: no visitor. Missing fields of a visitor follow from the address. */
function visitorIn(whole: JsonObject): DescribedVisitor | undefined {
  if (whole["visitor"] === undefined) return undefined;
  const given = objectIn(whole, "visitor");
  requireKnown(given, ["email", "email_verified", "id", "name", "groups"], "visitor");
  const email = textIn(given, "email", "");
  const { email_verified: emailVerified = true } = given;
  if (typeof emailVerified !== "boolean") throw new CaseFault("visitor: email_verified must be true or false");
  const { groups = [] } = given;
  if (!Array.isArray(groups) || !groups.every((one) => typeof one === "string")) {
    throw new CaseFault("visitor: groups must be a list of texts");
  }
  return { email, emailVerified, id: textIn(given, "id", email), name: textIn(given, "name", ""), groups };
}

function onlineIn(object: JsonObject): ReadonlyMap<string, SimulatedAnswer> {
  return new Map(
    Object.entries(objectsIn(object, "online")).map(([url, answer]) => {
      const address = readInternalUrl(url);
      const host = internalNameIn(url) ?? (address && urlOf(address));
      if (host === undefined) throw new CaseFault(`online: "${url}" is not the URL of an internal endpoint`);
      return [host, answerOf(answer, `online: ${url}`)] as const;
    }),
  );
}

function answerOf(object: JsonObject, where: string): SimulatedAnswer {
  requireKnown(object, ["status", "headers", "body"], where);
  const headers = headersIn(object);
  const own = [
    ["content-type", "text/plain"],
    ["x-powered-by", "Node"],
  ] as const;
  return {
    status: numberIn(object, "status", 200),
    headers: [...own.filter(([name]) => !headers.some(([other]) => other === name)), ...headers],
    body: textIn(object, "body", "up"),
  };
}

type Differ = (what: string, is: unknown, want: unknown) => void;

function collectDifferences(compare: (differ: Differ, found: string[]) => void): string[] {
  const found: string[] = [];
  compare((what, is, want) => {
    if (!isAsWanted(is, want)) found.push(`${what} is ${renderValue(is)}, expected ${renderValue(want)}`);
  }, found);
  return found;
}

/** A value that begins with `~` is a regular expression. Null matches an absent value. */
function isAsWanted(is: unknown, want: unknown): boolean {
  if (typeof want !== "string" || !want.startsWith("~")) return (is ?? null) === want;
  let expression: RegExp;
  try {
    expression = new RegExp(want.slice(1));
  } catch {
    throw new CaseFault(`"${want.slice(1)}" is not a regular expression`);
  }
  return typeof is === "string" && expression.test(is);
}

function renderValue(value: unknown): string {
  return JSON.stringify(value ?? null);
}

function compareResult(expected: JsonObject, { status, headers, body, upstream, forwardedTo }: Simulated): string[] {
  const wanted = objectIn(expected, "response");
  requireKnown(wanted, ["status", "headers", "body"], "response");
  const forwarded = objectIn(expected, "forwarded");
  requireKnown(forwarded, ["to", "host", "headers"], "forwarded");
  return collectDifferences((differ, found) => {
    const compare = (what: string, is: unknown, want: unknown): void => {
      if (want !== undefined) differ(what, is, want);
    };
    compare("status", status, wanted["status"]);
    // A page of the edge's own depends on the client's Accept field.
    if (body !== undefined) compare("body", body, wanted["body"]);
    compareHeaders("header", headers, wanted, differ);
    compare("forwarded_to", forwardedTo, expected["forwarded_to"]);
    compare("forwarded to", forwardedTo === undefined ? undefined : `https://${forwardedTo}`, forwarded["to"]);
    if (expected["upstream"] === "none") {
      if (upstream) found.push("the upstream is reached");
      return;
    }
    const seen = objectIn(expected, "upstream");
    requireKnown(seen, ["target", "headers", "body"], "upstream");
    if (Object.keys(seen).length === 0) return;
    if (!upstream) {
      found.push("the upstream is not reached");
      return;
    }
    compare("upstream target", upstream.target, seen["target"]);
    compare("upstream body", upstream.body, seen["body"]);
    compareHeaders("upstream header", upstream.headers, seen, differ);
  });
}

function compareHeaders(what: string, headers: Simulated["headers"], wanted: JsonObject, differ: Differ): void {
  for (const [name, want] of Object.entries(objectIn(wanted, "headers"))) {
    const values = headers.filter(([present]) => present === name.toLowerCase()).map(([, value]) => value);
    // Codings and names of fields are case-insensitive (RFC 9110 §8.4, §12.5.5).
    const isList = name === "vary" || name === "content-encoding";
    const is = values.length === 0 ? null : values.join(", ");
    differ(`${what} ${name}`, isList ? lowerCase(is) : is, isList ? lowerCase(want) : want);
  }
}

function lowerCase(value: unknown): unknown {
  return typeof value === "string" ? value.toLowerCase() : value;
}

function connectionDifferences(expected: JsonObject, { isClosed, forwardedTo }: SimulatedConnection): string[] {
  return collectDifferences((differ) => {
    if (expected["forwarded_to"] !== undefined) differ("forwarded_to", forwardedTo, expected["forwarded_to"]);
    if (expected["result"] !== undefined) differ("the connection", isClosed ? "closed" : "open", expected["result"]);
    if (expected["upstream"] === "none" && !isClosed && forwardedTo === undefined)
      differ("the upstream", "reached", "none");
  });
}

/** Checks shared by requests and connections: the trace, and the values noted for the event. */
function compareCommon(expected: JsonObject, { steps, logs }: Pick<Simulated, "steps" | "logs">): string[] {
  return collectDifferences((differ) => {
    const trace = objectIn(expected, "trace");
    requireKnown(trace, ["phase", "rule", "outcome"], "trace");
    if (Object.keys(trace).length > 0) {
      const at = `${textIn(trace, "phase", "on_http_request")}[${numberIn(trace, "rule", 0)}]`;
      const step = steps.find(({ reason }) => reason.startsWith(`${at}:`) || reason.startsWith(`${at} "`));
      differ(`the outcome of ${at}`, step && outcomeOf(step), trace["outcome"]);
    }
    const event = objectIn(expected, "event");
    requireKnown(event, ["logs"], "event");
    const wanted = event["logs"];
    if (wanted !== undefined) differ("the log", asTexts(logs), asTexts(wanted));
  });
}

/** A number equals its text, because the difference does not matter to readers of events. */
function asTexts(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === "number" ? String(inner) : inner));
}

function outcomeOf({ failed, outcome }: Step): string {
  if (failed === true) return "error";
  return outcome === "skipped" ? "unmatched" : "matched";
}
