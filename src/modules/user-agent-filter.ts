import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { defineModule } from "../traffic/module.ts";
import { readOnlyValue, repeated } from "../traffic/parts/only-value.ts";
import { denyStep, passStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first expression, because otherwise every start would wait for it. */
const loadRe2 = (): typeof Re2 => require("re2js") as typeof Re2;

const expression: StringFormat = {
  name: "re2",
  example: "(?i)curl/[0-9]+",
  check(text) {
    try {
      compileExpression(text);
      return undefined;
    } catch (error) {
      return `be an RE2 expression: ${error instanceof Error ? error.message : String(error)}`;
    }
  },
};

const expressionList = (doc: string) =>
  f.list(doc, f.string("An RE2 expression.", { format: expression }), { maxItems: 100 });

export const userAgentFilter = defineModule({
  name: "user_agent_filter",
  schemaName: "EndpointUserAgentFilter",
  on: ["https_route"],
  doc: "Denies requests by their User-Agent: fields that match an expression of `deny` and none of `allow`. A request without User-Agent passes only if an expression of `allow` matches the empty string. A request with several is always denied. Expressions are RE2 and match anywhere.",
  acts: { request: ["refuse"] },
  fields: {
    allow: expressionList("Expressions for user agents that are always allowed."),
    deny: expressionList("Expressions for user agents that are denied."),
  },
  compile({ allow, deny }) {
    const allows = anyOf(allow);
    const denies = anyOf(deny);
    const separately = deny.map((text) => ({
      match: anyOf([text]),
      step: refuseUserAgent(`matches "${text}" of deny`),
    }));
    const decide = (agent: string): Step => {
      if (allows(agent)) return allowed;
      if (!denies(agent)) return unmatched;
      return separately.find(({ match }) => match(agent))?.step ?? unnamed;
    };
    const withoutAgent = allows("") ? allowed : absent;
    const decided = new Map<string, Step>();
    return {
      request({ request }) {
        const agent = readOnlyValue(request.headers, "user-agent");
        if (agent === undefined) return withoutAgent;
        if (agent === repeated) return several;
        const known = decided.get(agent);
        if (known) return known;
        const step = decide(agent);
        if (decided.size >= maxDecided) decided.clear();
        if (agent.length <= maxDecidedLength) decided.set(agent, step);
        return step;
      },
    };
  },
});

/**
 * Maximum number of cached decisions per route, and maximum length of a cached User-Agent. Matching takes ten times as
 * long as a lookup.
 */
const maxDecided = 64;
const maxDecidedLength = 256;

const refuseUserAgent = (reason: string): Step => denyStep("user_agent_filter", "user_agent_denied", reason);
const allowed = passStep("user_agent_filter", "matches an expression of allow");
const unmatched = passStep("user_agent_filter", "matches no expression of deny");
const absent = refuseUserAgent("the request has no User-Agent, and no expression of allow matches the empty string");
const several = refuseUserAgent("the request has several User-Agent fields, and the upstream may use any of them");
const unnamed = refuseUserAgent("matches an expression of deny");

/**
 * Joins all expressions into one automaton: ten joined expressions cost as much as one. Runs in linear time for all
 * expressions (control D7).
 */
function anyOf(texts: readonly string[]): (text: string) => boolean {
  if (texts.length === 0) return () => false;
  const separate = texts.map(compileExpression);
  let joined: Re2.RE2JS | undefined;
  try {
    joined = texts.length === 1 ? separate[0] : loadRe2().RE2JS.compile(texts.map((text) => `(?:${text})`).join("|"));
  } catch {
    // Two expressions with the same group name cannot be joined.
  }
  return joined ? (text) => joined.test(text) : (text) => separate.some((one) => one.test(text));
}

function compileExpression(text: string): Re2.RE2JS {
  const compiled = loadRe2().RE2JS.compile(text);
  if (compiled.programSize() > maxProgramSize)
    throw new Error("the expression is too large after its repetitions are expanded");
  return compiled;
}

/** Maximum number of instructions. The time per character grows with it. */
const maxProgramSize = 10_000;
