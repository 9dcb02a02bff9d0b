/**
 * `auth_check_interval` on real traffic. The tests use the shortest interval, and send requests until it has passed.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { Visited } from "../support/browser.ts";
import { seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = {
  id: "4711",
  name: "Ada",
  login: "ada",
  email: "ada@example.com",
  verified: true,
  hd: "example.com",
};
const html = { accept: "text/html" };

const paths = ["/github", "/google", "/gitlab"] as const;

describe("a login that is checked again", () => {
  let world: LoginWorld;
  before(async () => {
    world = await startLoginWorld();
    for (const path of paths) {
      const provider = { [path.slice(1)]: { email_domains: ["example.com"] } };
      await world.route(path, { oauth: { provider, auth_check_interval: 1 } });
    }
  });
  after(() => world.stop());
  beforeEach(() => {
    Object.assign(world.providers, { person: ada, failure: undefined });
  });

  interface Visitor {
    readonly name: string;
    /**
     * Sends requests for up to ten seconds until a response matches. Returns that response, and the statuses before it.
     */
    until(isIt: (answer: Visited) => boolean): Promise<{ readonly answer: Visited; readonly before: number[] }>;
  }
  const open = async (path: string, http: "h1" | "h2"): Promise<Visitor> => {
    const browser = world.browser(http);
    const url = world.origin() + path;
    assert.equal((await browser.visit(url)).status, 200);
    return {
      name: `${path} over ${http}`,
      async until(isIt) {
        const before = new Set<number>();
        const late = performance.now() + 10_000;
        for (;;) {
          const answer = await browser.ask(url, { headers: html });
          if (isIt(answer) || performance.now() > late) return { answer, before: [...before] };
          before.add(answer.status);
        }
      },
    };
  };
  /** One after another, because the provider remembers only the last request. */
  const visitors = async (): Promise<Visitor[]> => {
    const all = [];
    for (const path of paths) all.push(await open(path, "h1"), await open(path, "h2"));
    return all;
  };
  const isRefused = ({ status }: Visited): boolean => status !== 200;

  it("a login that is checked again sends changes at the provider to the service, rejects former members, and keeps the session", async () => {
    const all = await visitors();
    world.providers.person = { ...ada, name: "Countess" };
    for (const { name, until } of all) {
      const { answer, before } = await until(
        (one) => isRefused(one) || seen(one)["ngrok-auth-user-name"] === "Countess",
      );
      assert.equal(answer.status, 200, name);
      assert.equal(seen(answer)["ngrok-auth-user-name"], "Countess", name);
      assert.deepEqual(
        before.filter((status) => status !== 200),
        [],
        name,
      );
    }
    world.providers.person = { ...ada, email: "ada@elsewhere.example" };
    for (const { name, until } of all) {
      const { answer } = await until(isRefused);
      assert.equal(answer.headers["postern-error-code"], errorCode("login_not_listed"), name);
    }
    world.providers.person = ada;
    for (const { name, until } of all) {
      assert.equal((await until(({ status }) => status !== 403)).answer.status, 200, name);
    }
  });

  it("a login that is checked again tolerates a failed provider for one interval, and then reports it", async () => {
    const visitor = await open("/google", "h1");
    world.providers.failure = { status: 503 };
    const { answer, before } = await visitor.until(isRefused);
    assert.equal(answer.headers["postern-error-code"], errorCode("login_unchecked"));
    assert.deepEqual(before, [200]);
  });

  it("a login that is checked again ends after the provider has revoked it", async () => {
    const visitor = await open("/github", "h2");
    world.providers.failure = { status: 401 };
    assert.equal((await visitor.until(isRefused)).answer.status, 302);
    world.providers.failure = undefined;
    assert.equal((await visitor.until(() => true)).answer.status, 302);
  });

  it("a login that is checked again uses the provider's new tokens, also after a restart", async () => {
    // With GitLab, which accepts a refresh token once.
    const visitor = await open("/gitlab", "h1");
    const isNamed = (name: string) => (one: Visited) => isRefused(one) || seen(one)["ngrok-auth-user-name"] === name;
    for (const name of ["First", "Second"]) {
      world.providers.person = { ...ada, name };
      assert.equal((await visitor.until(isNamed(name))).answer.status, 200, name);
      await world.platform.restart();
    }
    world.providers.person = { ...ada, name: "Third" };
    assert.equal((await visitor.until(isNamed("Third"))).answer.status, 200);
  });
});
