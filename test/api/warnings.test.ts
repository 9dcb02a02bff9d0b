/** Warnings about policies that are valid, but probably unintended. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const admitsNobody = "on_tcp_connect:\n  - actions: [{type: restrict-ips, config: {deny: [192.0.2.0/24]}}]";
const fine = admitsNobody.replace("deny", "allow");
const geo = (word: string): string =>
  `on_http_request: [{expressions: ["conn.geo.city != '${word}'"], actions: [{type: deny}]}, {actions: [{type: deny}]}]`;

/** One string (RFC 8941 §3.3.3). */
const warning = (response: ApiResponse): string | undefined => {
  const [, text] = /^"((?:[^"\\]|\\["\\])*)"(?:, "|$)/.exec(response.headers["postern-warning"] ?? "") ?? [];
  return text;
};

for (const database of databases) {
  describe(`warnings of the API on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    it(`warnings of the API on ${database.name} come with their own write only`, async () => {
      const { id } = await api.ok("POST", "/edges/tcp", {});
      const path = `/edges/tcp/${id}`;
      const block = await api.request("PUT", `${path}/traffic_policy`, { body: { value: admitsNobody } });
      assert.equal(block.status, 200, block.text);
      assert.match(
        warning(block) ?? "",
        /^traffic_policy\.value: on_tcp_connect\[0\]\.actions\[0\]\.config\.deny allows no address/,
      );
      const other = await api.request("PATCH", path, { body: { description: "x" } });
      assert.deepEqual([other.status, warning(other)], [200, undefined]);
      const same = await api.request("PATCH", path, { body: { traffic_policy: { value: admitsNobody } } });
      assert.deepEqual([same.status, warning(same)], [200, undefined]);
      const mended = await api.request("PUT", `${path}/traffic_policy`, { body: { value: fine } });
      assert.deepEqual([mended.status, warning(mended)], [200, undefined]);
      const broken = await api.request("PATCH", path, { body: { traffic_policy: { value: admitsNobody } } });
      assert.match(warning(broken) ?? "", /allows no address/);
      assert.equal(warning(await api.request("GET", path)), undefined);
    });

    it(`warnings of the API on ${database.name} are header fields of one line, whatever they repeat`, async () => {
      const made = await api.request("POST", "/endpoints", {
        body: {
          url: "https://warned.internal",
          type: "cloud",
          traffic_policy: `on_http_request: [{expressions: ["req.headers['\\u00dcb\\\\r\\\\n'][0] == 'a'"], actions: [{type: deny}]}, {actions: [{type: deny}]}]`,
        },
      });
      assert.equal(made.status, 201, made.text);
      assert.match(warning(made) ?? "", /^[\x20-\x7e]+$/);
      assert.match(warning(made) ?? "", /%C3%9Cb/);
    });

    it(`warnings of the API on ${database.name} are in plans and in apply results`, async () => {
      const document = (word: string) => ({
        document: "warned",
        objects: {
          cloud_endpoint: { shop: { url: "https://shop.internal", type: "cloud", traffic_policy: geo(word) } },
        },
      });
      for (const path of ["/plan", "/apply"]) {
        const { warnings } = await api.ok("POST", path, document("Bern"));
        assert.equal(warnings.length, 1);
        const [{ kind, name, path: at, message }] = warnings;
        assert.deepEqual([kind, name, at], ["cloud_endpoint", "shop", "traffic_policy"]);
        assert.match(
          message,
          /^on_http_request\[0\]\.expressions\[0\] line 1, column 1: "conn\.geo\.city" is empty unless/,
        );
      }
      assert.deepEqual((await api.ok("POST", "/plan", document("Bern"))).warnings, []);
      assert.equal((await api.ok("POST", "/plan", document("Rome"))).warnings.length, 1);
    });
  });
}
