import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { surveyPolicy } from "../../policy/survey.ts";
import { readDocument } from "./document.ts";
import type { Document } from "./document.ts";
import { surveyPolicies } from "./survey-policies.ts";

function documentOf(count: number, textOf: (at: number) => string): Document {
  const routes = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`r${at}`, { traffic_policy: { value: textOf(at) } }]),
  );
  return readDocument({ objects: { https_edge_route: routes } }, []);
}

const policy = (name: string): string =>
  JSON.stringify({ on_http_request: [{ expressions: [`req.url.path == '/${name}'`], actions: [{ type: "deny" }] }] });

describe("policies of a document", () => {
  it("D9: policies of a document are compiled one per event-loop turn", async () => {
    let turns = 0;
    let next = setImmediate(function again(): void {
      turns += 1;
      next = setImmediate(again);
    });
    await surveyPolicies(
      documentOf(50, (at) => policy(`turn${at}`)),
      "planDocument",
    );
    clearImmediate(next);
    assert.ok(turns >= 49, `${turns} turns`);
  });

  it("D9: policies of a document that take too long to compile are rejected, and equal texts count once", async () => {
    const refused = (error: unknown): boolean =>
      error instanceof Refusal &&
      error.reason === "work_too_long" &&
      error.message.includes("objects.https_edge_route.r");
    const different = documentOf(50, (at) => policy(`steps${at}`));
    const { steps } = surveyPolicy(policy("steps0"), "http");
    assert.ok(steps > 0);
    await assert.rejects(surveyPolicies(different, "planDocument", 10 * steps), refused);
    const same = documentOf(50, () => policy("steps0"));
    await surveyPolicies(same, "planDocument", 10 * steps);
  });

  it("policies of a document that are not text, or too long, are left to the parser", async () => {
    await surveyPolicies(
      documentOf(1, () => "a".repeat(70_000)),
      "planDocument",
      1,
    );
    const odd = { https_edge_route: { r: { traffic_policy: 1 } }, tls_edge: { t: { traffic_policy: { value: [] } } } };
    await surveyPolicies(readDocument({ objects: odd }, []), "planDocument", 1);
  });
});
