import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NameClaim } from "./name-claims.ts";
import { makeNameClaims } from "./name-claims.ts";

const name = "app.example.com";

function two() {
  const claims = makeNameClaims<string>();
  const [first, second] = ["edge_1", "edge_2"] as const;
  const answers: string[] = [];
  const claim = (tunnelId: string, line: string, more: Partial<NameClaim> = {}): void =>
    claims.claim({ name, tunnelId, accountId: "ac_1", replaces: [], ...more }, line, (answer) =>
      answers.push(`${tunnelId} ${answer}`),
    );
  const open = (tunnelId: string, line: string, pool?: string): readonly string[] => {
    const made = claims.open(name, { tunnelId, accountId: "ac_1", pool, place: line }).map((one) => one.tunnelId);
    claims.settle(name);
    return made;
  };
  return { claims, first, second, answers, claim, open };
}

describe("claims of names", () => {
  it("claims of names conflict with tunnels that an edge does not know", () => {
    const { first, second, answers, claim, open } = two();
    claim("tn_1", first);
    open("tn_1", first);
    claim("tn_2", second);
    claim("tn_3", second, { replaces: ["tn_1"] });
    assert.deepEqual(answers, ["tn_1 granted", "tn_2 conflict", "tn_3 granted"]);
    assert.deepEqual(open("tn_3", second), ["tn_1"]);
  });

  it("claims of names of one host, over http:// and https://, are granted to one account only", () => {
    const { claims, first, second, answers, claim, open } = two();
    claim("tn_1", first);
    claim("tn_2", second, { name: `http://${name}`, accountId: "ac_2" });
    claim("tn_3", second, { name: `http://${name}` });
    claims.drop("tn_3", second);
    open("tn_1", first);
    claim("tn_4", second, { name: `http://${name}`, accountId: "ac_2" });
    claims.release(name, "tn_1", first);
    claim("tn_5", second, { name: `http://${name}`, accountId: "ac_2" });
    assert.deepEqual(answers, ["tn_1 granted", "tn_2 conflict", "tn_3 granted", "tn_4 conflict", "tn_5 granted"]);
  });

  it("claims of names wait until the tunnel with the grant serves the name, or its edge has gone", () => {
    const { claims, first, second, answers, claim, open } = two();
    claim("tn_1", first);
    claim("tn_2", second);
    assert.deepEqual(answers, ["tn_1 granted"]);
    open("tn_1", first);
    assert.deepEqual(answers.splice(0), ["tn_1 granted", "tn_2 conflict"]);
    claims.release(name, "tn_1", first);
    claim("tn_3", first);
    claim("tn_4", second);
    claims.leave(first);
    assert.deepEqual(answers.splice(0), ["tn_3 granted", "tn_4 granted"]);
    claim("tn_5", first);
    claims.drop("tn_4", second);
    assert.deepEqual(answers, ["tn_5 granted"]);
  });

  it("claims of names get no answer after they are dropped, and leave the name to waiting claims", () => {
    const { claims, first, second, answers, claim } = two();
    claim("tn_1", first);
    claim("tn_2", second);
    claim("tn_2", first);
    claim("tn_3", second);
    claims.drop("tn_1", second);
    claims.drop("tn_2", second);
    claims.drop("tn_2", first);
    assert.deepEqual(answers, ["tn_1 granted"]);
    claims.drop("tn_1", first);
    assert.deepEqual(answers, ["tn_1 granted", "tn_3 granted"]);
    claims.drop("tn_3", second);
    claim("tn_4", second);
    assert.deepEqual(answers, ["tn_1 granted", "tn_3 granted", "tn_4 granted"]);
  });

  it("claims of names share a name within one account and pool only", () => {
    const { first, second, answers, claim, open } = two();
    claim("tn_1", first, { pool: "https" });
    open("tn_1", first, "https");
    claim("tn_2", second, { pool: "https" });
    assert.deepEqual(open("tn_2", second, "https"), []);
    claim("tn_3", second, { pool: "https", accountId: "ac_2" });
    claim("tn_4", second, { pool: "http" });
    claim("tn_5", second);
    assert.deepEqual(answers, ["tn_1 granted", "tn_2 granted", "tn_3 conflict", "tn_4 conflict", "tn_5 conflict"]);
  });

  it("claims of names know that another edge has a tunnel whose close arrives late", () => {
    const { claims, first, second, answers, claim, open } = two();
    claim("tn_1", first);
    open("tn_1", first);
    claim("tn_1", second);
    open("tn_1", second);
    claims.release(name, "tn_1", first);
    claim("tn_2", first);
    assert.deepEqual(answers, ["tn_1 granted", "tn_1 granted", "tn_2 conflict"]);
  });
});
