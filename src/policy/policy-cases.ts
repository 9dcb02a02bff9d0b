/**
 * Test cases of a policy: a request or connection, and its expected result (guides/policies.md, "Check and test a
 * policy").
 */
import type { JsonObject } from "../lib/json.ts";
import type { DescribedVisitor } from "../traffic/login.ts";
import type { Step } from "../traffic/step.ts";
import { compilePolicy } from "./compile.ts";
import { CaseFault, headersIn, numberIn, objectIn, objectsIn, onlyKnown, textIn } from "./case-fields.ts";
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
const surroundings: readonly string[] = ["secrets", "key_sets", "online"];
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
export async function runCases(given: JsonObject): Promise<readonly CaseResult[]> {
  onlyKnown(given, [...places, ...surroundings], "the test");
  const endpoint = URL.parse(textIn(given, "endpoint", "https://shop.example.test"));
  const layer = layerOf(endpoint);
  const text = typeof given["policy"] === "string" ? given["policy"] : JSON.stringify(objectIn(given, "policy"));
  const { policy, issues } = compilePolicy(text, layer);
  const [first] = issues;
  if (first) throw new CaseFault(`policy: ${first.path} ${first.message}`);
  const cases = given["cases"];
  if (!Array.isArray(cases) || cases.length === 0) throw new CaseFault("the file has no cases");
  const simulation = startSimulation(policy, {
    layer,
    host: endpoint?.hostname ?? "",
    port: Number(endpoint?.port) || 443,
    secrets: objectsIn(given, "secrets") as Readonly<Record<string, Record<string, string>>>,
    keySets: objectsIn(given, "key_sets"),
  });
  const results: CaseResult[] = [];
  for (const [index, one] of (cases as readonly unknown[]).entries()) {
    if (typeof one !== "object" || one === null) throw new CaseFault(`case ${index + 1} is not an object`);
    const whole = { host: endpoint?.hostname, ...given, ...(one as JsonObject) };
    onlyKnown(one as JsonObject, [...inputs, ...outcomes, "connect"], `case ${index + 1}`);
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
    return { wrong: [...connectionDifferences(one, outcome), ...common(one, outcome)], trace: traceOf(outcome.steps) };
  }
  const outcome = await simulation.request(request);
  return { wrong: [...differences(one, outcome), ...common(one, outcome)], trace: traceOf(outcome.steps) };
}

function traceOf(steps: readonly Step[]): string[] {
  return steps.map(({ outcome, reason }) => `${outcome}: ${reason}`);
}

function requestOf(given: JsonObject): SimulatedRequest {
  const request = objectIn(given, "request");
  onlyKnown(request, ["method", "host", "target", "headers", "body"], "request");
  const at = textIn(given, "at", "0s");
  if (!/^\d{1,9}(?:\.\d{1,3})?s$/.test(at)) throw new CaseFault(`at must be seconds, such as 90s, not "${at}"`);
  return {
    nowMs: startMs + Math.round(Number(at.slice(0, -1)) * 1000),
    method: textIn(request, "method", "GET"),
    host: textIn(request, "host", textIn(given, "host", "shop.example.test")),
    target: textIn(request, "target", "/"),
    headers: headersIn(request),
    body: textIn(request, "body", ""),
    visitor: visitorIn(given),
    client: textIn(given, "client", "203.0.113.9"),
    online: onlineIn(given),
    random: numberIn(given, "rand", 0.5),
    answer: answerOf(objectIn(given, "upstream_answer"), "upstream_answer"),
  };
}

/** Default: no visitor. Missing fields of a visitor follow from the address. */
function visitorIn(whole: JsonObject): DescribedVisitor | undefined {
  if (whole["visitor"] === undefined) return undefined;
  const given = objectIn(whole, "visitor");
  onlyKnown(given, ["email", "email_verified", "id", "name", "groups"], "visitor");
  const email = textIn(given, "email", "");
  const { email_verified: emailVerified = true } = given;
  if (typeof emailVerified !== "boolean") throw new CaseFault("visitor: email_verified must be true or false");
  const { groups = [] } = given;
  if (!Array.isArray(groups) || !groups.every((one) => typeof one === "string")) {
    throw new CaseFault("visitor: groups must be a list of texts");
  }
  return { email, emailVerified, id: textIn(given, "id", email), name: textIn(given, "name", ""), groups };
}

function onlineIn(given: JsonObject): ReadonlyMap<string, SimulatedAnswer> {
  return new Map(
    Object.entries(objectsIn(given, "online")).map(([url, answer]) => {
      const address = readInternalUrl(url);
      const host = internalNameIn(url) ?? (address && urlOf(address));
      if (host === undefined) throw new CaseFault(`online: "${url}" is not the URL of an internal endpoint`);
      return [host, answerOf(answer, `online: ${url}`)] as const;
    }),
  );
}

function answerOf(given: JsonObject, where: string): SimulatedAnswer {
  onlyKnown(given, ["status", "headers", "body"], where);
  const headers = headersIn(given);
  const own = [
    ["content-type", "text/plain"],
    ["x-powered-by", "Node"],
  ] as const;
  return {
    status: numberIn(given, "status", 200),
    headers: [...own.filter(([name]) => !headers.some(([other]) => other === name)), ...headers],
    body: textIn(given, "body", "up"),
  };
}

type Differ = (what: string, is: unknown, want: unknown) => void;

function collected(compare: (differ: Differ, found: string[]) => void): string[] {
  const found: string[] = [];
  compare((what, is, want) => {
    if (!isAsWanted(is, want)) found.push(`${what} is ${shown(is)}, expected ${shown(want)}`);
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

function shown(value: unknown): string {
  return JSON.stringify(value ?? null);
}

function differences(given: JsonObject, { status, headers, body, upstream, forwardedTo }: Simulated): string[] {
  const wanted = objectIn(given, "response");
  onlyKnown(wanted, ["status", "headers", "body"], "response");
  const forwarded = objectIn(given, "forwarded");
  onlyKnown(forwarded, ["to", "host", "headers"], "forwarded");
  return collected((differ, found) => {
    const compare = (what: string, is: unknown, want: unknown): void => {
      if (want !== undefined) differ(what, is, want);
    };
    compare("status", status, wanted["status"]);
    // A page of the edge's own depends on the client's Accept field.
    if (body !== undefined) compare("body", body, wanted["body"]);
    compareHeaders("header", headers, wanted, differ);
    compare("forwarded_to", forwardedTo, given["forwarded_to"]);
    compare("forwarded to", forwardedTo === undefined ? undefined : `https://${forwardedTo}`, forwarded["to"]);
    if (given["upstream"] === "none") {
      if (upstream) found.push("the upstream is reached");
      return;
    }
    const seen = objectIn(given, "upstream");
    onlyKnown(seen, ["target", "headers", "body"], "upstream");
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
    differ(`${what} ${name}`, isList ? lower(is) : is, isList ? lower(want) : want);
  }
}

function lower(value: unknown): unknown {
  return typeof value === "string" ? value.toLowerCase() : value;
}

function connectionDifferences(given: JsonObject, { isClosed, forwardedTo }: SimulatedConnection): string[] {
  return collected((differ) => {
    if (given["forwarded_to"] !== undefined) differ("forwarded_to", forwardedTo, given["forwarded_to"]);
    if (given["result"] !== undefined) differ("the connection", isClosed ? "closed" : "open", given["result"]);
    if (given["upstream"] === "none" && !isClosed && forwardedTo === undefined)
      differ("the upstream", "reached", "none");
  });
}

/** Checks shared by requests and connections: the trace, and the values noted for the event. */
function common(given: JsonObject, { steps, logs }: Pick<Simulated, "steps" | "logs">): string[] {
  return collected((differ) => {
    const trace = objectIn(given, "trace");
    onlyKnown(trace, ["phase", "rule", "outcome"], "trace");
    if (Object.keys(trace).length > 0) {
      const at = `${textIn(trace, "phase", "on_http_request")}[${numberIn(trace, "rule", 0)}]`;
      const step = steps.find(({ reason }) => reason.startsWith(`${at}:`) || reason.startsWith(`${at} "`));
      differ(`the outcome of ${at}`, step && outcomeOf(step), trace["outcome"]);
    }
    const event = objectIn(given, "event");
    onlyKnown(event, ["logs"], "event");
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
