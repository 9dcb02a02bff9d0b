import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeNameClaims, mayHave } from "./name-claims.ts";
import type { NameClaim, NameHolder } from "./name-claims.ts";

const claim = { tunnelId: "tn_1", accountId: "ac_1", replaces: [] };
const holder: NameHolder = { tunnelId: "tn_2", accountId: "ac_1", pool: undefined, state: "serves" };
const foreign: NameHolder = { ...holder, accountId: "ac_2" };

describe("the name rule", () => {
  it("the name rule grants a name that no other tunnel has", () => {
    assert.equal(mayHave(claim, []), "granted");
    assert.equal(mayHave(claim, [{ ...holder, tunnelId: "tn_1" }]), "granted");
  });

  it("the name rule rejects a name that another tunnel serves, unless that tunnel is replaced or shares the name", () => {
    assert.equal(mayHave(claim, [holder]), "conflict");
    assert.equal(mayHave({ ...claim, replaces: ["tn_2"] }, [holder]), "granted");
    assert.equal(mayHave({ ...claim, pool: "https" }, [{ ...holder, pool: "https" }]), "granted");
    assert.equal(mayHave({ ...claim, pool: "https" }, [{ ...holder, pool: "tls" }]), "conflict");
    const other = { ...holder, tunnelId: "tn_3", pool: "https" };
    assert.equal(mayHave({ ...claim, pool: "https", replaces: ["tn_2"] }, [holder, other]), "granted");
    assert.equal(mayHave({ ...claim, replaces: ["tn_2"] }, [holder, other]), "conflict");
  });

  it("the name rule waits for a tunnel that was granted the name, even if that tunnel is to be replaced", () => {
    const granted: NameHolder = { ...foreign, state: "granted" };
    assert.equal(mayHave(claim, [granted]), "pending");
    assert.equal(mayHave({ ...claim, replaces: ["tn_2"] }, [{ ...holder, state: "granted" }]), "pending");
    assert.equal(
      mayHave({ ...claim, pool: "https" }, [{ ...holder, pool: "https", state: "granted" }]),
      "granted",
      "a tunnel of the pool need not serve it first",
    );
    assert.equal(mayHave(claim, [granted, { ...holder, tunnelId: "tn_3" }]), "conflict");
  });

  it("P1: the name rule grants an account no name of another account, and no name of the same host", () => {
    const asking = { ...claim, pool: "https", replaces: ["tn_2"] };
    assert.equal(mayHave(asking, [{ ...foreign, pool: "https" }]), "conflict");
    assert.equal(mayHave(claim, [{ ...foreign, state: "left" }]), "conflict");
    assert.equal(mayHave(claim, [{ ...holder, state: "left" }]), "granted");
    for (const state of ["serves", "granted", "left"] as const) {
      assert.equal(mayHave(asking, [], [{ ...foreign, state }]), "conflict", state);
      assert.equal(mayHave(asking, [], [{ ...holder, state }]), "granted", state);
    }
  });
});

it("the name register grants a name to tunnels of one pool at the same time", () => {
  const claims = makeNameClaims<string>();
  const answers: string[] = [];
  const ask = (more: Partial<NameClaim> & { tunnelId: string }, place: string): void =>
    claims.claim({ name: "a.example.com", accountId: "ac_1", replaces: [], ...more }, place, (answer) =>
      answers.push(`${more.tunnelId} ${answer}`),
    );
  ask({ tunnelId: "tn_1", pool: "https" }, "ed_1");
  ask({ tunnelId: "tn_2", pool: "https" }, "ed_2");
  ask({ tunnelId: "tn_3" }, "ed_1");
  assert.deepEqual(answers, ["tn_1 granted", "tn_2 granted"]);
  claims.leave("ed_1");
  claims.drop("tn_2", "ed_2");
  ask({ tunnelId: "tn_4" }, "ed_2");
  assert.deepEqual(answers, ["tn_1 granted", "tn_2 granted", "tn_4 granted"], "tn_3 left with its edge");
});
