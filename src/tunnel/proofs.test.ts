import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newId } from "../lib/ids.ts";
import { makeProofs } from "./proofs.ts";

describe("proofs", () => {
  const proofs = makeProofs(Buffer.alloc(32, 1));
  const same = makeProofs(Buffer.alloc(32, 1));
  const other = makeProofs(Buffer.alloc(32, 2));

  it("A8: proofs remain valid after a restart, and only under the same secret", () => {
    assert.ok(same.provesSession(proofs.cookie("ts_1"), "ts_1"));
    assert.ok(!other.provesSession(proofs.cookie("ts_1"), "ts_1"));
    assert.ok(!proofs.provesSession(proofs.cookie("ts_1"), "ts_2"));
    assert.ok(!proofs.provesSession("", "ts_1"));
    assert.ok(same.provesTunnel(proofs.tunnelToken("ac_1", "tn_1"), "ac_1", "tn_1"));
    assert.ok(!proofs.provesTunnel(proofs.tunnelToken("ac_1", "tn_1"), "ac_2", "tn_1"));
    assert.ok(!proofs.provesTunnel(proofs.tunnelToken("ac_1", "tn_1"), "ac_1", "tn_2"));
  });

  it("proofs differ for different splits of the same parts", () => {
    assert.notEqual(proofs.tunnelToken("a", "bc"), proofs.tunnelToken("ab", "c"));
    assert.notEqual(proofs.labelledId("a", "b1", 2), proofs.labelledId("a", "b", 12));
  });

  it("proofs make ids of labelled tunnels that look like other ids and sort by the time of their session", () => {
    assert.match(proofs.labelledId("ts_1", "[]", 0), /^tn_[0-9a-z]{27}$/);
    const clients = [1_600_000_000_000, 1_700_000_000_000, 1_700_000_000_001].map((nowMs) => newId("ts", nowMs));
    const ids = clients.map((clientId) => proofs.labelledId(clientId, "[]", 0));
    assert.deepEqual(ids.toSorted(), ids);
    assert.ok((ids[2] as string) < newId("tn", 1_700_000_000_002));
    for (const id of ids) assert.match(id, /^tn_[0-9a-z]{27}$/);
    assert.equal(same.labelledId("ts_1", "[]", 0), proofs.labelledId("ts_1", "[]", 0));
    assert.notEqual(proofs.labelledId("ts_1", "[]", 1), proofs.labelledId("ts_1", "[]", 0));
  });

  it("proofs seal a text for one purpose", () => {
    const sealed = proofs.seal("ac_1 OAuth", "s3cret");
    assert.doesNotMatch(Buffer.from(sealed, "base64").toString("latin1"), /s3cret/);
    assert.equal(same.unseal("ac_1 OAuth", sealed), "s3cret");
    assert.equal(proofs.unseal("ac_2 OAuth", sealed), undefined);
    assert.equal(other.unseal("ac_1 OAuth", sealed), undefined);
    const bytes = Buffer.from(sealed, "base64");
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      assert.equal(proofs.unseal("ac_1 OAuth", changed.toString("base64")), undefined);
    }
    assert.equal(proofs.unseal("ac_1 OAuth", "AAAA"), undefined);
  });

  it("proofs require a secret of 32 bytes", () => {
    assert.throws(() => makeProofs(Buffer.alloc(31)), /31 bytes/);
  });
});
