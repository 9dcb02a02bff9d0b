import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { httpsSite, tableOf, tlsSite } from "../../test/support/routing.ts";
import { tlsTermination } from "./tls-termination.ts";

function issues(
  config: { terminate_at: "edge" | "upstream" | "agent"; min_version: "1.2" | "1.3" | null },
  place: "https_edge" | "tls_edge",
) {
  return (tlsTermination.rules ?? []).flatMap((rule) => rule(config, place)?.path ?? []);
}

describe("TLS termination", () => {
  it("TLS termination rejects a minimum version with passthrough, and passthrough on HTTPS edges", () => {
    assert.deepEqual(issues({ terminate_at: "upstream", min_version: "1.3" }, "tls_edge"), ["min_version"]);
    assert.deepEqual(issues({ terminate_at: "upstream", min_version: null }, "tls_edge"), []);
    assert.deepEqual(issues({ terminate_at: "upstream", min_version: null }, "https_edge"), ["terminate_at"]);
    assert.deepEqual(issues({ terminate_at: "edge", min_version: "1.2" }, "https_edge"), []);
  });

  it("K1: TLS termination sets the handshake's minimum version", () => {
    const { table, put } = tableOf();
    const tls_termination = { enabled: true, terminate_at: "edge", min_version: "1.3" };
    put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"], tls_termination } });
    assert.deepEqual(httpsSite(table, "h")?.handshake, { minVersion: "TLSv1.3" });
    put({
      kind: "https_edge",
      id: "e",
      doc: { hostports: ["h:443"], tls_termination: { ...tls_termination, enabled: false } },
    });
    assert.deepEqual(httpsSite(table, "h")?.handshake, {});
  });

  it("K3: TLS termination supports passthrough on TLS edges only", () => {
    const { table, put } = tableOf();
    for (const terminate_at of ["upstream", "agent"]) {
      const tls_termination = { enabled: true, terminate_at, min_version: null };
      put({ kind: "tls_edge", id: "t", doc: { hostports: ["t:443"], tls_termination } });
      assert.equal(tlsSite(table, "t")?.handshake.passthrough, true);
      put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"], tls_termination } });
      assert.match(httpsSite(table, "h")?.problem?.message ?? "", /an HTTPS edge needs TLS termination at the edge/);
    }
  });
});
