/** When keys and tokens were last used, in a whole server that restarts. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

for (const { name, create } of databases) {
  describe(`last uses on ${name}`, () => {
    let platform: TestPlatform;
    let service: HttpService;
    let drop: () => Promise<void>;
    before(async () => {
      const place = await create();
      ({ drop } = place);
      platform = await startPlatform({ database: place.url, drainMs: 50 });
      service = await startHttpService((_request, response) => response.end("the shop"));
    });
    after(async () => {
      await platform?.stop();
      await service?.stop();
      await drop?.();
    });
    const make = async (path: string, body: object): Promise<ApiBody> => {
      const made = await platform.api("POST", path, body);
      assert.equal(made.status, 201, made.text);
      return made.body;
    };

    it(`the last use of an API key, an agent token and a service token on ${name} survives a restart`, async () => {
      const key = await make("/api_keys", { description: "ci" });
      const token = await make("/service_tokens", { name: "report", acl: ["shop.localhost"] });
      const idle = await make("/api_keys", { description: "idle" });
      const host = `shop.localhost:${platform.httpsPort}`;
      const edge = await make("/edges/https", { hostports: [host] });
      const backend = await make("/backends/tunnel_group", { labels: { service: "shop" } });
      await make(`/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: backend.id },
        oauth: { provider: { github: { client_id: "c", client_secret: "s" } }, machine_clients: { enabled: true } },
      });
      await platform.startAgent({ upstream: service.port, labels: { service: "shop" } });
      assert.equal((await platform.api("GET", "/edges/https", undefined, key.token)).status, 200);
      const headers = { authorization: `Bearer ${token.token}` };
      await eventually(
        async () => (await platform.request(`https://${host}/`, { headers })).status,
        (status) => status === 200,
      );
      const credentials = (await platform.api("GET", "/credentials")).body.credentials as ApiBody[];
      const agents = credentials.find(({ last_used_at }) => last_used_at !== null);
      assert.ok(agents, JSON.stringify(credentials));
      await platform.restart();
      for (const path of [`/api_keys/${key.id}`, `/service_tokens/${token.id}`, `/credentials/${agents.id}`]) {
        const { last_used_at } = (await platform.api("GET", path)).body;
        assert.match(String(last_used_at), /^\d{4}-.*Z$/, path);
      }
      assert.equal((await platform.api("GET", `/api_keys/${idle.id}`)).body.last_used_at, null);
    });
  });
}
