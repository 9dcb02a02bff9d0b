/** Tokens of clients and machines at three servers that share a database. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openBrowser } from "../support/browser.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { sealingKey } from "../support/nodes.ts";
import { codeFor, discover, exchange, json, refresh, register, tokensFor } from "../support/oauth-client.ts";
import type { Asked, Tokens } from "../support/oauth-client.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };

describe("tokens at three nodes", { skip: postgres ? false : "PostgreSQL is not installed", timeout: 240_000 }, () => {
  let world: LoginWorld;
  let nodes: readonly TestPlatform[];
  let drop: () => Promise<void>;
  before(async () => {
    if (!postgres) return;
    const database = await postgres.create();
    ({ drop } = database);
    const shared = {
      database: database.url,
      cluster: true,
      sealingKey,
      allowLocalUpstreams: true,
      peerListen: { host: "127.0.0.1", port: 0 },
    };
    world = await startLoginWorld(shared);
    Object.assign(world.providers, { person: ada });
    const machine_clients = { enabled: true };
    await world.route("/mcp", { oauth: { provider: { gitlab: {} }, machine_clients } });
    const app = { clientId, clientSecret, baseUrl: world.providers.baseUrl, graphVersion: "" };
    const others = await Promise.all([1, 2].map(() => startPlatform({ ...shared, oauthApps: { gitlab: app } })));
    nodes = [world.platform, ...others];
    for (const node of nodes) await becomes(node, "postern_oa_unknown", 401);
  });
  after(async () => {
    for (const node of nodes.slice(1)) await node.stop();
    await world.stop();
    await drop();
  });
  const visitor = ({ caPem }: TestPlatform): Browser => openBrowser({ ca: caPem });
  const call = async (node: TestPlatform, token: string): Promise<Visited> => {
    const headers = { accept: "application/json", authorization: `Bearer ${token}` };
    return await visitor(node).ask(`https://app.localhost:${node.httpsPort}/mcp`, { headers });
  };
  const becomes = async (node: TestPlatform, token: string, wanted: number) =>
    await eventually(
      async () => (await call(node, token)).status,
      (status) => status === wanted,
    );
  /** The same authorization server at another node. */
  const via = (node: TestPlatform, asked: Asked): Asked => {
    const server = Object.entries(asked.server).map(([name, value]) => [
      name,
      typeof value === "string" ? value.replace(`:${world.platform.httpsPort}/`, `:${node.httpsPort}/`) : value,
    ]);
    return { ...asked, server: Object.fromEntries(server) as Asked["server"] };
  };
  const wantedBy = async (one: Browser): Promise<Asked> => {
    const { server, resource } = await discover(one, `${world.origin()}/mcp`);
    return { server, resource, clientId: await register(one, server) };
  };

  it("I8: tokens at three nodes are issued by one, valid at all, renewed by another, and revoked everywhere", async () => {
    const [, second, third] = nodes as [TestPlatform, TestPlatform, TestPlatform];
    const one = world.browser();
    const wanted = await wantedBy(one);
    let tokens: Tokens | undefined;
    const first: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const answer = await exchange(visitor(second), via(second, wanted), await codeFor(one, wanted));
      assert.equal(answer.status, 200, answer.text);
      const issued = json(answer) as Tokens;
      // Nodes ask the database about a token that they do not know yet. Under load they do not wait for the answer.
      first.push(
        (await Promise.all(nodes.map((node) => call(node, issued.access_token)))).map(({ status }) => status).join(),
      );
      for (const node of nodes) await becomes(node, issued.access_token, 200);
      tokens = issued;
    }
    assert.ok(tokens && first.includes("200,200,200"), first.join(" "));
    const renewed = json(await refresh(visitor(third), via(third, wanted), tokens.refresh_token)) as Tokens;
    for (const node of nodes) {
      await becomes(node, tokens.access_token, 401);
      assert.equal((await call(node, renewed.access_token)).status, 200);
    }
    assert.equal((await refresh(visitor(second), via(second, wanted), tokens.refresh_token)).status, 400, "used");
    for (const node of nodes) await becomes(node, renewed.access_token, 401);
  });

  it("I8: tokens at three nodes are renewed once if all three are asked at the same time", async () => {
    const one = world.browser();
    const wanted = await wantedBy(one);
    const tokens = await tokensFor(one, wanted);
    const answers = await Promise.all(
      nodes.map((node) => refresh(visitor(node), via(node, wanted), tokens.refresh_token)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400, 400],
    );
    const { access_token } = json(answers.find(({ status }) => status === 200) as Visited) as Tokens;
    for (const node of nodes) await becomes(node, access_token, 401);
  });

  it("I10: a service token at three nodes is valid at all, and ends at all when it is deleted at another", async () => {
    const [first, second, third] = nodes as [TestPlatform, TestPlatform, TestPlatform];
    const made = await first.api("POST", "/service_tokens", { name: "m", acl: ["app.localhost"] });
    for (const node of nodes) await becomes(node, made.body.token, 200);
    const rotated = await second.api("POST", `/service_tokens/${made.body.id}/rotate`, { previous_valid_minutes: 0 });
    for (const node of nodes) {
      await becomes(node, rotated.body.token, 200);
      await becomes(node, made.body.token, 401);
    }
    assert.equal((await third.api("DELETE", `/service_tokens/${made.body.id}`)).status, 204);
    for (const node of nodes) await becomes(node, rotated.body.token, 401);
  });
});
