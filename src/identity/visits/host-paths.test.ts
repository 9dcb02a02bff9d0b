import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { ExchangeInit } from "../../../test/support/exchange.ts";
import { guarded } from "../../../test/support/guarded.ts";
import type { Step } from "../../traffic/step.ts";

const page = { accept: "text/html" };

describe("the paths of a host with logins", () => {
  const ask = async (
    { logins, site }: ReturnType<typeof guarded>,
    init: ExchangeInit & { readonly target: string },
  ) => {
    const path = logins.hostPaths.find(init.target.split("?", 1)[0] ?? "", site);
    const step = (await path?.request(exchangeOf(init))) as Step;
    const { answer, reason } = step;
    assert.ok(answer && "status" in answer, reason);
    return { status: answer.status, headers: answer.headers ?? {}, body: String(answer.body) };
  };

  it("the paths of a host with logins have old and new names, which start a login or end it after confirmation", async () => {
    for (const path of ["/.postern/login?path=/a", "/auth/authn?redirect_path=/a", "/ngrok/login?path=/a"]) {
      const { status, headers } = await ask(guarded({}), { target: path, headers: page });
      assert.deepEqual([status, new URL(String(headers["location"])).host], [302, "github.com"], path);
    }
    for (const path of ["/.postern/logout", "/auth/logout", "/ngrok/logout"]) {
      const given = guarded({});
      const { loginCookies } = given;
      const out = (headers: Readonly<Record<string, string>>) =>
        ask(given, { target: path, method: "POST", headers: { ...page, ...headers }, loginCookies });
      await out({ origin: "https://evil.example" });
      assert.equal(given.logins.context.sessions.size, 1, path);
      await out({ origin: "https://app.example.com" });
      assert.equal(given.logins.context.sessions.size, 0, path);
    }
  });

  it("the paths of a host with logins report the visitor to GET only, and nothing about an invalid session", async () => {
    const given = guarded({ inactivity_timeout: 60 });
    const { loginCookies, clock } = given;
    const session = () => ask(given, { target: "/.postern/session", loginCookies });
    const { status, body, headers } = await session();
    assert.deepEqual([status, JSON.parse(body).user.email], [200, "ada@example.com"]);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal((await ask(given, { target: "/.postern/session" })).status, 401);
    assert.equal((await ask(given, { target: "/.postern/session", method: "POST", loginCookies })).status, 405);
    clock.pass(60_000);
    const over = await session();
    assert.deepEqual([over.status, over.body.includes("ada")], [401, false]);
  });

  it("the paths of a host with logins include the assertion keys, and no metadata without a SAML login", async () => {
    const given = guarded({});
    const keys = await ask(given, { target: "/.postern/jwks.json" });
    assert.deepEqual([keys.status, Object.keys(JSON.parse(keys.body))], [200, ["keys"]]);
    assert.equal((await ask(given, { target: "/.postern/jwks.json", method: "POST" })).status, 405);
    assert.equal((await ask(given, { target: "/.postern/saml" })).status, 404);
    assert.equal(given.logins.hostPaths.find("/auth/other", given.site), undefined, "an application may have it");
  });
});
