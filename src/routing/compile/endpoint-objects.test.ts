import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { httpsSite, tableOf, tlsSite } from "../../../test/support/routing.ts";
import type { ResourceObject } from "../../schema/object.ts";

/** An invalid policy. Writes reject it, but an earlier version may have stored it. */
const policy = "on_no_phase: []";
const at = (url: string) => ({ kind: "cloud_endpoint", id: "ep_1", doc: { url, traffic_policy: policy } });

describe("cloud endpoints", () => {
  it("R6: cloud endpoints are closed and have a problem if their policy is invalid", () => {
    const { table, put } = tableOf();
    const [problem] = put(at("https://app.example.com"));
    assert.deepEqual([problem?.kind, problem?.id, problem?.module], ["cloud_endpoint", "ep_1", "traffic_policy"]);
    const site = httpsSite(table, "app.example.com");
    assert.equal(site?.id, "ep_1");
    for (const path of ["/", "/any/path"]) {
      assert.match(site?.findRoute(path, "h")?.problem?.message ?? "", /is not a phase here/);
    }
    const cleared = put({ ...at("https://app.example.com"), gone: true });
    assert.deepEqual(
      [cleared.map(({ message }) => message), httpsSite(table, "app.example.com")],
      [[undefined], undefined],
    );
  });

  it("cloud endpoints keep their problem if their URL changes to another protocol", () => {
    const { put } = tableOf();
    put(at("https://app.example.com"));
    const messages = put(at("tls://app.example.com")).map(({ message }) => message);
    assert.deepEqual([messages.length, messages[0]], [2, undefined]);
    assert.match(messages[1] ?? "", /is not a phase here/);
  });

  it("R6: cloud endpoints with an invalid policy carry no TLS or TCP connections either", () => {
    const { table, put } = tableOf();
    put(at("tls://db.example.com"));
    assert.match(tlsSite(table, "db.example.com")?.problem?.message ?? "", /is not a phase here/);
    put(at("tcp://db.example.com:20500"));
    assert.equal(tlsSite(table, "db.example.com"), undefined);
    assert.deepEqual(
      [...table.tcpSites()].map(({ id, ports }) => [id, ports]),
      [["ep_1", [20_500]]],
    );
    assert.match(table.tcpSite("ep_1")?.problem?.message ?? "", /is not a phase here/);
    assert.equal(table.portHolder(20_500)?.id, "ep_1");
  });

  it("cloud endpoints move with their URL, and with a snapshot", () => {
    const { table, put } = tableOf();
    put(at("https://old.example.com"));
    put(at("https://new.example.com:8443"));
    assert.deepEqual(
      [httpsSite(table, "old.example.com"), httpsSite(table, "new.example.com")?.id],
      [undefined, "ep_1"],
    );
    const object: ResourceObject = { ...at("https://newest.example.com"), account_id: "ac_1", revision: 9 };
    assert.equal(table.load(9, [object])[0]?.kind, "cloud_endpoint");
    assert.deepEqual(
      [httpsSite(table, "new.example.com"), httpsSite(table, "newest.example.com")?.id],
      [undefined, "ep_1"],
    );
    table.load(10, []);
    assert.equal(httpsSite(table, "newest.example.com"), undefined);
  });
});
