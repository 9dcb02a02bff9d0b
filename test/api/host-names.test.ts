/**
 * Host names that accounts may hold: none of the server's, no public suffixes, and none that cover other accounts'
 * names.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const policy = "on_http_request:\n  - actions:\n      - type: deny";

for (const database of databases) {
  describe(`host names on ${database.name}`, () => {
    let api: TestApi;
    let other: string;
    before(async () => {
      api = await startApi(database, { publicSuffix: ["customers.example"], allowPublicSuffix: ["lan"] });
      other = (await api.ok("POST", "/accounts", { name: "other" })).api_key;
    });
    after(() => api.stop());

    /** Every way to request a name. */
    async function asked(name: string, key?: string): Promise<Readonly<Record<string, ApiResponse>>> {
      const ask = (method: string, path: string, body: Body) =>
        api.request(method, path, { body, ...(key !== undefined && { key }) });
      const edge = (await ask("POST", "/edges/https", {})).body;
      const objects = { https_edge: { one: { hostports: [`${name}:443`] } } };
      return {
        reserved: await ask("POST", "/reserved_domains", { domain: name }),
        "https edge": await ask("POST", "/edges/https", { hostports: [`${name}:443`] }),
        "other port": await ask("POST", "/edges/https", { hostports: [`${name.toUpperCase()}:8443`] }),
        "changed edge": await ask("PATCH", `/edges/https/${edge.id}`, { hostports: [`${name}:443`] }),
        "tls edge": await ask("POST", "/edges/tls", { hostports: [`${name}:443`] }),
        "cloud endpoint": await ask("POST", "/endpoints", {
          url: `https://${name}`,
          type: "cloud",
          traffic_policy: policy,
        }),
        document: await ask("POST", "/apply", { document: "names", objects }),
      };
    }

    async function assertRefused(name: string, code: number, key?: string): Promise<void> {
      for (const [way, { status, body }] of Object.entries(await asked(name, key))) {
        assert.deepEqual([status, body.error_code], [409, `ERR_POSTERN_${code}`], `${way}: ${name}: ${body.msg}`);
      }
      const { reserved_domains: all } = await api.ok("GET", "/reserved_domains", undefined, key);
      assert.ok(!all.some(({ domain }: { domain: string }) => domain === name));
    }

    it(`R5: host names on ${database.name} of the server are not available: its domain, the login host, and names that cover them`, async () => {
      for (const name of ["postern.test", "idp.postern.test", "*.idp.postern.test", "a.idp.postern.test"]) {
        await assertRefused(name, 413, name.startsWith("idp") ? other : undefined);
      }
      for (const name of ["*.postern.test", "*.test"]) await assertRefused(name, 413);
      const tcp = await api.request("POST", "/edges/tcp", { body: { hostports: ["idp.postern.test:9000"] } });
      assert.deepEqual([tcp.status, tcp.body.error_code], [409, errorCode("domain_held")]);
      await api.ok("POST", "/edges/tcp", { hostports: ["postern.test:9000"] });
      await api.ok("POST", "/reserved_domains", { domain: "idp2.postern.test" });
    });

    it(`R5: host names on ${database.name} that are public suffixes are not available, by the public suffix list and the operator's setting`, async () => {
      for (const name of ["com", "*.com", "*.co.uk", "*.github.io", "*.customers.example"]) {
        await assertRefused(name, 414);
      }
      // A cloud endpoint of this name is internal, and each account has its own.
      const internal = await api.request("POST", "/reserved_domains", { body: { domain: "*.internal" } });
      assert.equal(internal.body.error_code, errorCode("domain_public"));
      const tcp = await api.request("POST", "/edges/tcp", { body: { hostports: ["*.com:9001"] } });
      assert.equal(tcp.body.error_code, errorCode("domain_public"));
      for (const name of ["*.lan", "nas", "*.shop.example.com", "a.customers.example", "*.b.github.io"]) {
        await api.ok("POST", "/reserved_domains", { domain: name });
      }
    });

    it(`R5: host names on ${database.name} of one account are neither covered by another's wildcard nor below one`, async () => {
      await api.ok("POST", "/reserved_domains", { domain: "deep.a.v.test" });
      await api.ok("POST", "/reserved_domains", { domain: "*.w.test" });
      for (const name of ["*.v.test", "*.a.v.test"]) await assertRefused(name, 413, other);
      for (const name of ["x.w.test", "x.y.w.test", "*.y.w.test"]) await assertRefused(name, 413, other);
      const tcp = { key: other, body: { hostports: ["x.w.test:9002"] } };
      assert.equal((await api.request("POST", "/edges/tcp", tcp)).body.error_code, errorCode("domain_held"));
      await api.ok("POST", "/reserved_domains", { domain: "a.v.test" }, other);
      await api.ok("POST", "/reserved_domains", { domain: "w.test" }, other);
      await api.ok("POST", "/reserved_domains", { domain: "mine.w.test" });
    });

    it(`R5: host names on ${database.name} under a wildcard of one's own are no obstacle, and free names can be covered again`, async () => {
      const one = await api.ok("POST", "/reserved_domains", { domain: "one.x.test" });
      const wild = await api.request("POST", "/reserved_domains", { body: { domain: "*.x.test" } });
      assert.equal(wild.status, 201);
      assert.equal((await api.request("DELETE", `/reserved_domains/${wild.body.id}`)).status, 204);
      assert.equal((await api.request("DELETE", `/reserved_domains/${one.id}`)).status, 204);
      await api.ok("POST", "/reserved_domains", { domain: "two.x.test" }, other);
      // Restored states do not request names explicitly.
      const back = await api.request("POST", `/revisions/${wild.headers["postern-revision"]}/rollback`);
      assert.deepEqual([back.status, back.body.error_code], [409, errorCode("domain_held")], back.text);
    });

    it(`R5: host names on ${database.name} that two accounts request at once go to one of them, including covering names`, async () => {
      for (const round of [1, 2, 3, 4]) {
        const names = [`a.r${round}.test`, `*.r${round}.test`];
        const order = round % 2 === 0 ? names : names.reverse();
        const answers = await Promise.all(
          order.flatMap((domain, index) => {
            const key = index === 0 ? other : api.apiKey;
            return [api.request("POST", "/reserved_domains", { key, body: { domain } })];
          }),
        );
        const statuses = answers.map(({ status }) => status).sort((one, two) => one - two);
        assert.deepEqual(statuses, [201, 409], order.join(" "));
      }
    });

    it(`R5: host names on ${database.name} that an agent of another account serves cannot be taken over`, async () => {
      const accountId = (await api.ok("GET", "/accounts")).accounts.find(({ name }: Body) => name === "other").id;
      const endpoint = { id: `ep_${"2".repeat(27)}`, proto: "https" as const, publicUrl: "https://live.y.test" };
      const shared = { accountId, credentialId: "cr_x", metadata: "", region: "local" };
      const tunnel = { ...shared, id: `tn_${"2".repeat(27)}`, sessionId: "ts_x", forwardsTo: "", endpoint };
      api.edge.send({ type: "tunnel_opened", tunnel: { ...tunnel, startedAt: "2026-01-01T00:00:00Z" } });
      for (const name of ["live.y.test", "*.y.test"]) {
        const { status, body } = await api.request("POST", "/reserved_domains", { body: { domain: name } });
        assert.deepEqual([status, body.error_code], [409, errorCode("domain_held")], name);
      }
      await api.ok("POST", "/reserved_domains", { domain: "*.y.test" }, other);
    });
  });
}
