import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EdgeAnswer, RequestTrace } from "../../routing/planes/edge-questions.ts";
import { firstIdAt } from "../../lib/traffic-ids.ts";
import { joinAnswers } from "./join-answers.ts";

const question = { name: "requests", accountId: "ac_1", limit: 10, beforeId: undefined } as const;
const trace = (ms: number): RequestTrace => ({ id: firstIdAt("req_", ms), captured: true }) as unknown as RequestTrace;
const list = (times: readonly number[], searchedTo?: number): EdgeAnswer => ({
  name: "requests",
  requests: times.map(trace),
  more: false,
  ...(searchedTo !== undefined && { missing: { reason: "time", searchedTo } }),
});
const joined = (answers: readonly EdgeAnswer[], isSilent = false) => {
  const answer = joinAnswers(question, answers, isSilent);
  assert.ok(answer?.name === "requests");
  return { ids: answer.requests.map(({ id }) => id), more: answer.more, missing: answer.missing };
};

describe("the joined list of several edges", () => {
  it("the joined list of several edges ends where the slowest search has come to, so that the next page has the rest", () => {
    const ids = [400, 300].map((ms) => trace(ms).id);
    const missing = { reason: "time", searchedTo: 250 };
    assert.deepEqual(joined([list([400, 100]), list([300], 250)]), { ids, more: true, missing });
  });

  it("the joined list of several edges names an edge that is silent, and a search that failed", () => {
    assert.deepEqual(joined([list([400])], true).missing, { reason: "silent" });
    const failed = { ...list([300]), missing: { reason: "failed" } } as EdgeAnswer;
    assert.deepEqual(joined([list([400], 350), failed]).missing, { reason: "failed" });
    assert.equal(joined([list([400]), list([300])]).missing, undefined);
  });

  it("the answer for one request says that an edge could not look everywhere", () => {
    const one = { name: "request", accountId: "ac_1", id: trace(1).id } as const;
    const busy: EdgeAnswer = { name: "requests", requests: [], more: false, missing: { reason: "busy" } };
    assert.equal(joinAnswers(one, [{ name: "unknown" }, busy]), busy);
    const found = list([1]);
    assert.equal(joinAnswers(one, [busy, found]), found);
  });
});
