/** Periodic checks of logins at several servers. A refresh token that works once is used once. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { openBrowser } from "../support/browser.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { sealingKey } from "../support/nodes.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const skip = postgres ? false : "PostgreSQL is not installed";
const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };

let world: LoginWorld;
let other: TestPlatform;
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
  await world.route("/", { oauth: { provider: { gitlab: {} }, auth_check_interval: 1 } });
  const app = { clientId, clientSecret, baseUrl: world.providers.baseUrl, graphVersion: "" };
  other = await startPlatform({ ...shared, oauthApps: { gitlab: app } });
  await eventually(
    () => ask(other, openBrowser({ ca: other.caPem })),
    ({ status }) => status === 302,
  );
});
after(async () => {
  if (!postgres) return;
  await other.stop();
  await world.stop();
  await drop();
});

/** Sends one request with the browser's cookies to one of the servers. */
async function ask({ caPem, httpsPort }: TestPlatform, browser: Browser): Promise<Visited> {
  const headers = { accept: "text/html", cookie: browser.cookies(`${world.origin()}/`) };
  return await openBrowser({ ca: caPem }).ask(`https://app.localhost:${httpsPort}/`, { headers });
}

it(
  "I2: a login that is checked again at two servers uses each refresh token once, and stays valid",
  { skip },
  async () => {
    world.providers.person = ada;
    const browser = world.browser();
    assert.equal((await browser.visit(world.origin())).status, 200);
    await eventually(
      () => ask(other, browser),
      ({ status }) => status === 200,
    );
    const isRefresh = (call: string): boolean => call === "POST /gitlab.com/oauth/token";
    for (const name of ["First", "Second", "Third"]) {
      world.providers.person = { ...ada, name };
      const names = new Set<string | undefined>();
      await eventually(
        async () => {
          const answers = await Promise.all(
            [world.platform, other, world.platform, other].map((one) => ask(one, browser)),
          );
          for (const answer of answers) assert.equal(`${answer.status} ${codeOf(answer)}`, "200 ", name);
          names.clear();
          for (const answer of answers) names.add(seen(answer)["ngrok-auth-user-name"]);
          return names;
        },
        () => names.size === 1 && names.has(name),
      );
    }
    assert.ok(world.providers.calls.filter(isRefresh).length >= 4, "a login, and three checks");
  },
);
