import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import { routeWith } from "../../test/support/routing.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { userAgentFilter } from "./user-agent-filter.ts";

async function outcome(allow: string[], deny: string[], ...agents: string[]): Promise<string> {
  const route = routeWith("user_agent_filter", { allow, deny });
  const headers = agents.map((agent) => ["user-agent", agent] as const);
  return (await runRequest(route, exchangeOf({ headers }))).outcome;
}

describe("user agent filter", () => {
  it("the user agent filter rejects matches of a deny expression unless an allow expression matches", async () => {
    assert.equal(await outcome([], ["curl"], "curl/8.0"), "denied");
    assert.equal(await outcome([], ["curl"], "Mozilla/5.0"), "passed");
    assert.equal(await outcome(["^curl/8"], ["curl"], "curl/8.0"), "passed");
    assert.equal(await outcome(["^curl/8"], [], "other"), "passed");
    assert.equal(await outcome(["^good$"], [".*"], "bad"), "denied");
    assert.equal(await outcome([], ["x", "(?i)BOT"], "a robot"), "denied");
  });

  it("the user agent filter rejects a request without User-Agent, unless an allow expression matches the empty string", async () => {
    assert.equal(await outcome([], []), "denied");
    assert.equal(await outcome(["curl"], []), "denied");
    assert.equal(await outcome(["^$"], [".*"]), "passed");
  });

  it("user agent filter rejects a request with several User-Agent fields", async () => {
    assert.equal(await outcome([], ["curl"], "Mozilla", "curl"), "denied");
    assert.equal(await outcome([], ["curl"], "curl", "Mozilla"), "denied");
    assert.equal(await outcome([".*"], [], "Mozilla", "Mozilla"), "denied");
  });

  it("the user agent filter names the expression that rejected the request", async () => {
    const route = routeWith("user_agent_filter", { allow: [], deny: ["wget", "curl"] });
    const step = await runRequest(route, exchangeOf({ headers: { "user-agent": "curl/8" } }));
    assert.match(step.reason, /"curl" of deny/);
    assert.deepEqual(step.answer, { error: "user_agent_denied" });
  });

  it("the user agent filter decides each agent independently of earlier ones", async () => {
    const route = routeWith("user_agent_filter", { allow: ["^bot/7$"], deny: ["^bot", "5$"] });
    const agents = Array.from({ length: 200 }, (_, index) => `${index % 3 === 0 ? "bot" : "browser"}/${index}`);
    const long = `browser/${"1".repeat(1000)}`;
    for (const agent of [...agents, ...agents.toReversed(), long, `${long}5`, long]) {
      const step = await runRequest(route, exchangeOf({ headers: { "user-agent": agent } }));
      const expected = agent.startsWith("bot") || agent.endsWith("5") ? "denied" : "passed";
      assert.equal(step.outcome, expected, agent);
    }
  });

  it("the user agent filter separates expressions that cannot be joined, with their alternatives and flags", async () => {
    assert.equal(await outcome([], ["(?P<n>a)", "(?P<n>b)"], "b"), "denied");
    assert.equal(await outcome([], ["(?i)a|x", "b"], "B"), "passed");
    assert.equal(await outcome([], ["(?i)a|x", "b"], "A"), "denied");
  });

  it("D7: the user agent filter runs in linear time, and rejects invalid, non-RE2 and oversized expressions", async () => {
    assert.equal(await outcome([], ["(a+)+$"], `${"a".repeat(20_000)}!`), "passed");
    for (const wrong of ["(", "a)(b", "(?=a)", "\\1", "(((a{100}){100}){100})", "a{999}".repeat(11)]) {
      assert.equal(parseFields(userAgentFilter.fields, { deny: [wrong] }, "replace").issues.length, 1, wrong);
    }
  });
});
