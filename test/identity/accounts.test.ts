import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "../support/browser.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";

const html = { accept: "text/html" };
const github = { oauth: { provider: { github: {} } } };

describe("P1: logins of two accounts", () => {
  let world: LoginWorld;
  let key: string;
  let mine: Browser;
  let theirs: Browser;
  const at = (host: string): string => `${world.origin(host)}/`;
  const list = async (what: string, as?: string, query = ""): Promise<Record<string, string>[]> =>
    (await world.platform.api("GET", `/app/${what}${query}`, undefined, as)).body[`application_${what}`];
  before(async () => {
    world = await startLoginWorld();
    const { platform } = world;
    await world.route("/", github);
    key = (await platform.api("POST", "/accounts", { name: "tenant" })).body.api_key;
    const edge = (await platform.api("POST", "/edges/https", { hostports: ["their.localhost:443"] }, key)).body;
    const backend = await platform.api(
      "POST",
      "/backends/static",
      { address: `127.0.0.1:${world.upstream.port}` },
      key,
    );
    const route = { match_type: "path_prefix", match: "/", backend: { backend_id: backend.body.id }, ...github };
    assert.equal((await platform.api("POST", `/edges/https/${edge.id}/routes`, route, key)).status, 201);
    [mine, theirs] = [world.browser(), world.browser()];
    assert.equal((await mine.visit(at("app.localhost"))).status, 200);
    assert.equal((await theirs.visit(at("their.localhost"))).status, 200);
  });
  after(() => world.stop());

  it("P1: logins of two accounts are two users, although the provider reports the same person", async () => {
    const [ours, others] = [await list("users"), await list("users", key)];
    assert.equal(ours.length, 1);
    assert.equal(others.length, 1);
    assert.equal(ours[0]?.["provider_user_id"], others[0]?.["provider_user_id"]);
    assert.notEqual(ours[0]?.["id"], others[0]?.["id"]);
  });

  it("P1: logins of two accounts are listed and ended only by their own account's keys, filtered or not", async () => {
    for (const [what, as, of] of [
      ["sessions", key, undefined],
      ["users", key, undefined],
      ["sessions", undefined, key],
      ["users", undefined, key],
    ] as const) {
      const [{ id } = { id: "" }] = await list(what, of);
      for (const method of ["GET", "DELETE"]) {
        assert.equal((await world.platform.api(method, `/app/${what}/${id}`, undefined, as)).status, 404, what);
      }
      const filter = `?filter=${encodeURIComponent(`obj.id == "${id}"`)}`;
      assert.deepEqual(await list(what, as, filter), []);
      assert.equal((await list(what, of, filter)).length, 1);
    }
    assert.equal((await mine.ask(at("app.localhost"), { headers: html })).status, 200);
    assert.equal((await theirs.ask(at("their.localhost"), { headers: html })).status, 200);
  });

  it("P1: logins of two accounts are not valid at each other's hosts, under any cookie name", async () => {
    const [name = "", value = ""] = mine.cookies(at("app.localhost")).split("; ")[0]?.split("=") ?? [];
    const [theirName = ""] = theirs.cookies(at("their.localhost")).split("; ")[0]?.split("=") ?? [];
    for (const each of [name, theirName]) {
      const thief = world.browser();
      thief.setCookie(at("their.localhost"), each, value);
      assert.equal((await thief.ask(at("their.localhost"), { headers: html })).status, 302, each);
    }
  });

  it("P1: logins of two accounts start and finish at one account's host each", async () => {
    const visitor = world.browser();
    const begun = await visitor.visit(at("app.localhost"), { stop: (url) => url.includes("/.postern/callback?") });
    const callback = new URL(String(begun.headers.location));
    callback.hostname = "their.localhost";
    const before = world.providers.calls.length;
    const refused = await visitor.ask(callback.href, { headers: html });
    assert.equal(refused.status, 400);
    assert.equal(world.providers.calls.length, before);
  });

  it("P1: logins of two accounts end only with their own user", async () => {
    const [{ id } = { id: "" }] = await list("users");
    assert.equal((await world.platform.api("DELETE", `/app/users/${id}`)).status, 204);
    assert.equal((await mine.ask(at("app.localhost"), { headers: html })).status, 302);
    assert.equal((await theirs.ask(at("their.localhost"), { headers: html })).status, 200);
  });
});
