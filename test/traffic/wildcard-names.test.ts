/** Wildcards of agents on a whole server, or over several nodes: reservations, the API's view of them, and dry runs. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const wildcard = "*.app.example.net";

describe("the wildcard of an account's agent", { timeout: 60_000 }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  let other: ApiBody;
  let reservation: ApiBody;
  before(async () => {
    platform = await startPlatform();
    service = await startHttpService((request, response) => response.end(String(request.headers.host)));
    other = (await platform.api("POST", "/accounts", { name: "other" })).body;
  });
  after(async () => {
    await platform.stop();
    await service.stop();
  });
  const text = async (host: string, http: "h1" | "h2" = "h1"): Promise<string> =>
    (await platform.request(`https://${host}/`, { http })).text;
  const ended = async (url: string, token?: string): Promise<string> => {
    const options = { upstream: service.port, url, offline: true, ...(token !== undefined && { token }) };
    const { reason, message } = await (await platform.startAgent(options)).ended;
    assert.equal(reason, "name_taken", message);
    return message;
  };

  it("R5: the wildcard of an account's agent needs a reservation, which excludes every other account", async () => {
    assert.match(await ended(`https://${wildcard}`), /postern api POST \/reserved_domains/);
    const made = await platform.api("POST", "/reserved_domains", { domain: wildcard });
    assert.equal(made.status, 201, made.text);
    reservation = made.body;
    for (const host of [wildcard, "a.app.example.net", "*.a.app.example.net"]) {
      assert.match(await ended(`https://${host}`, other.authtoken), /it is not available/);
      const taken = await platform.api("POST", "/reserved_domains", { domain: host }, other.api_key);
      assert.equal(taken.status, 409, taken.text);
    }
  });

  it("the API shows the wildcard of an account's agent as requested, and explains it for a name below it", async () => {
    const agent = await platform.startAgent({ upstream: service.port, url: `https://${wildcard}` });
    assert.equal(agent.url, `https://${wildcard}:${platform.httpsPort}`);
    for (const http of protocols) assert.equal(await text("a.app.example.net", http), "a.app.example.net");
    const { endpoints } = (await platform.api("GET", "/endpoints")).body;
    const endpoint = endpoints.find(({ type }: ApiBody) => type === "ephemeral");
    assert.deepEqual([endpoint.public_url, endpoint.host], [agent.url, wildcard]);
    const { tunnels } = (await platform.api("GET", "/tunnels")).body;
    assert.deepEqual(
      tunnels.map(({ public_url }: ApiBody) => public_url),
      [agent.url],
    );
    for (const described of [{}, { host: "b.app.example.net" }]) {
      const told = await platform.api("POST", `/endpoints/${endpoint.id}/explain`, described);
      assert.equal(told.body.outcome, "forwarded", told.text);
    }
    const strange = await platform.api("POST", `/endpoints/${endpoint.id}/explain`, { host: "x.b.app.example.net" });
    assert.equal(strange.status, 400, strange.text);
    const command = ["explain", "--data", platform.directory, "GET", "https://b.app.example.net/"];
    assert.match((await runSharedCommand(command)).stdout, /forwarded through tn_/);
    const used = await platform.api("DELETE", `/reserved_domains/${reservation.id}`);
    assert.deepEqual([used.status, used.body.details.referrer_id], [409, endpoint.id]);
    const same = await platform.api("POST", "/edges/https", { hostports: [`${wildcard}:${platform.httpsPort}`] });
    assert.equal(same.status, 409, same.text);
    const exact = await platform.api("POST", "/edges/https", { hostports: ["a.app.example.net:443"] });
    assert.equal(exact.status, 201, exact.text);
    assert.equal((await platform.api("DELETE", `/edges/https/${exact.body.id}`)).status, 204);
    const specific = await platform.startAgent({ upstream: service.port, url: "https://b.app.example.net" });
    const narrow = await runSharedCommand([...command, "--json"]);
    const { tunnels: all } = (await platform.api("GET", "/tunnels")).body;
    const its = all.find(({ public_url }: ApiBody) => public_url === specific.url);
    assert.equal(JSON.parse(narrow.stdout).tunnel.id, its.id);
    await specific.close();
    await eventually(
      () => text("b.app.example.net"),
      (answer) => answer === "b.app.example.net",
    );
    await agent.close();
    await eventually(
      () => platform.api("DELETE", `/reserved_domains/${reservation.id}`),
      ({ status }) => status === 204,
    );
  });
});
