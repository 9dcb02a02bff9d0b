/** Several tunnels of one agent: they share a session and live independently. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseUpstream } from "../../src/agent/upstream.ts";
import type { TunnelOptions, TunnelStatus } from "../../src/agent/tunnel-options.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("an agent with several tunnels", () => {
  let platform: TestPlatform;
  const services: HttpService[] = [];
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    for (const text of ["web", "api"]) services.push(await startHttpService((_, response) => response.end(text)));
  });
  after(async () => {
    await platform.stop();
    for (const service of services) await service.stop();
  });

  /** A tunnel of an agent, and its status events. */
  function tunnelTo(service: number, url: string, more: Partial<TunnelOptions> = {}) {
    const statuses: TunnelStatus[] = [];
    let told = (): void => {};
    const options: TunnelOptions = {
      name: url,
      upstream: parseUpstream(String(services[service]?.port ?? 1)),
      metadata: "",
      publish: { kind: "url", url },
      status(status) {
        statuses.push(status);
        told();
      },
      ...more,
    };
    return {
      options,
      statuses,
      /** Resolves after that many events. */
      async told(count: number) {
        while (statuses.length < count) await new Promise<void>((resolve) => (told = resolve));
      },
    };
  }

  it("an agent with several tunnels opens them in one session, each for its own service, and has them again after a restart", async () => {
    const [web, api] = [tunnelTo(0, "https://web.localhost"), tunnelTo(1, "https://api.localhost")];
    const agent = await platform.startAgent({
      upstream: 1,
      offline: true,
      agent: { tunnels: [web.options, api.options] },
    });
    await Promise.all([web.told(1), api.told(1)]);
    const ask = async (name: string) =>
      (await platform.request(`https://${name}.localhost:${platform.httpsPort}`)).text;
    assert.deepEqual([await ask("web"), await ask("api")], ["web", "api"]);
    const { body } = await platform.api("GET", "/tunnel_sessions");
    assert.equal(body.tunnel_sessions.length, 1);
    await platform.restart();
    await Promise.all([web.told(2), api.told(2)]);
    assert.deepEqual([await ask("web"), await ask("api")], ["web", "api"]);
    await agent.close();
  });

  it("an agent with several tunnels continues with the others when one is refused", async () => {
    const { body } = await platform.api("POST", "/accounts", { name: "other" });
    const holder = await platform.startAgent({ upstream: 1, url: "https://held.localhost", token: body.authtoken });
    const [held, free] = [tunnelTo(0, "https://held.localhost"), tunnelTo(1, "https://free.localhost")];
    const agent = await platform.startAgent({
      upstream: 1,
      offline: true,
      agent: { tunnels: [held.options, free.options] },
    });
    await Promise.all([held.told(1), free.told(1)]);
    assert.equal(held.statuses[0]?.state, "ended");
    assert.equal((await platform.request(`https://free.localhost:${platform.httpsPort}`)).text, "api");
    const [{ id }] = (await platform.api("GET", "/tunnel_sessions")).body.tunnel_sessions;
    assert.equal((await platform.api("POST", `/tunnel_sessions/${id}/stop`, {})).status, 204);
    assert.equal((await agent.ended).reason, "stopped");
    await holder.close();
  });
});
