/** What answers now: `/endpoints`. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`endpoints of edges on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const urls = async (): Promise<string[]> =>
      (await api.ok("GET", "/endpoints")).endpoints.map(({ url }: Body) => url as string).sort();

    it("are there for backends that need no agent", async () => {
      const fixed = await api.ok("POST", "/backends/http_response", { body: "hello" });
      const address = await api.ok("POST", "/backends/static", { address: "db.example.com:5432" });
      const nested = await api.ok("POST", "/backends/failover", { backends: [address.id] });
      const edge = await api.ok("POST", "/edges/https", { hostports: ["fixed.example.com:443"] });
      assert.deepEqual(await urls(), []);
      const path = `/edges/https/${edge.id}/routes`;
      const route = await api.ok("POST", path, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: fixed.id },
      });
      assert.deepEqual(await urls(), ["https://fixed.example.com"]);
      const backend = { backend_id: nested.id };
      const tcp = await api.ok("POST", "/edges/tcp", { hostports: ["postern.test:30001"], backend });
      assert.deepEqual(await urls(), ["https://fixed.example.com", "tcp://postern.test:30001"]);
      const { endpoints } = await api.ok("GET", "/endpoints");
      for (const one of endpoints) {
        assert.equal(one.type, "edge");
        assert.deepEqual(await api.ok("GET", `/endpoints/${one.id}`), one);
      }
      await api.ok("DELETE", `/edges/tcp/${tcp.id}`);
      await api.ok("DELETE", `${path}/${route.id}/backend`);
      assert.deepEqual(await urls(), []);
    });
  });
}
