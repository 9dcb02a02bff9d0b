import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { seedWorld } from "../support/world.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("small resources of the vendor's API", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite, { seed: seedWorld });
  });
  after(() => api.stop());

  it("the API accepts a secret's vault by name, and lists the secrets of one vault", async () => {
    const [one, other] = [
      await api.ok("POST", "/vaults", { name: "one" }),
      await api.ok("POST", "/vaults", { name: "other" }),
    ];
    const secret = await api.ok("POST", "/vault_secrets", { name: "a", value: "x", vault_name: "one" });
    assert.deepEqual(secret.vault, { id: one.id, uri: one.uri });
    assert.ok(!("value" in secret) && !("vault_name" in secret));
    await api.ok("POST", "/vault_secrets", { name: "b", value: "x", vault_id: one.id });
    await api.ok("POST", "/vault_secrets", { name: "c", value: "x", vault_id: other.id });
    const page = await api.ok("GET", `/vaults/${one.id}/secrets?limit=1`);
    const rest = await api.ok("GET", page.next_page_uri.slice(api.baseUrl.length));
    assert.deepEqual(
      [...page.secrets, ...rest.secrets].map(({ name }: Body) => name),
      ["b", "a"],
    );
    assert.equal(rest.next_page_uri, null);
    const refusals: readonly (readonly [Body, string, RegExp])[] = [
      [{ name: "d", value: "x" }, "vault_id", /neither/],
      [{ name: "d", value: "x", vault_id: one.id, vault_name: "one" }, "vault_id", /both/],
      [{ name: "d", value: "x", vault_name: "none" }, "vault_name", /no vault "none"/],
      [{ name: "a", value: "x", vault_name: "one" }, "holder_id", /./],
    ];
    for (const [body, path, message] of refusals) {
      const refused = await api.request("POST", "/vault_secrets", { body });
      assert.match(refused.body.details[path] ?? "", message, refused.text);
    }
  });

  it("P1: the API knows no vault of another account by name", async () => {
    await api.ok("POST", "/vaults", { name: "private" });
    const { api_key: key } = await api.ok("POST", "/accounts", { name: "another" });
    const body = { name: "a", value: "x", vault_name: "private" };
    const refused = await api.request("POST", "/vault_secrets", { body, key });
    assert.deepEqual([refused.status, refused.body.error_code], [404, errorCode("reference_unknown")]);
  });

  it("the API leaves agents' endpoints to their agents", async () => {
    const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id as string;
    const endpoint = { id: `ep_${"1".repeat(27)}`, proto: "https", publicUrl: "https://t1.postern.test" } as const;
    const shared = {
      accountId,
      credentialId: "cr_x",
      metadata: "",
      region: "local",
      startedAt: "2026-01-01T00:00:00Z",
    };
    const tunnel = { ...shared, id: `tn_${"1".repeat(27)}`, sessionId: "ts_x", forwardsTo: "localhost:80", endpoint };
    api.edge.send({ type: "tunnel_opened", tunnel });
    for (const method of ["PATCH", "DELETE"]) {
      const body = method === "PATCH" ? {} : undefined;
      const fixed = await api.request(method, `/endpoints/${endpoint.id}`, { body });
      assert.deepEqual([fixed.status, fixed.body.error_code], [409, errorCode("endpoint_fixed")], method);
    }
  });

  it("the API shows logins, and deleting a user ends the user's sessions", async () => {
    const { application_sessions: sessions } = await api.ok("GET", "/app/sessions");
    const { application_users: users } = await api.ok("GET", "/app/users");
    assert.deepEqual([sessions.length, users.length], [10, 10]);
    const [session] = sessions;
    assert.equal(session.application_user.uri, `${api.baseUrl}/app/users/${session.application_user.id}`);
    assert.deepEqual([session.edge, session.browser_session.location], [null, null]);
    assert.equal((await api.request("DELETE", `/app/users/${session.application_user.id}`)).status, 204);
    assert.equal((await api.request("GET", `/app/sessions/${session.id}`)).status, 404);
    assert.equal((await api.ok("GET", "/app/sessions")).application_sessions.length, 9);
    assert.equal((await api.request("POST", "/app/users", { body: {} })).status, 405);
  });

  it("R5: the API does not let an account reserve all names that the server generates", async () => {
    const base = "postern.test";
    for (const name of [`*.${base}`, "*.test"]) {
      const reserved = await api.request("POST", "/reserved_domains", { body: { domain: name } });
      assert.deepEqual([reserved.status, reserved.body.error_code], [409, errorCode("domain_held")], name);
      for (const kind of ["https", "tls"]) {
        const edge = await api.request("POST", `/edges/${kind}`, { body: { hostports: [`${name}:443`] } });
        assert.deepEqual([edge.status, edge.body.error_code], [409, errorCode("domain_held")], `${kind} ${name}`);
      }
    }
    const upper = await api.request("POST", "/edges/https", { body: { hostports: ["*.POSTERN.test:443"] } });
    assert.equal(upper.status, 409);
    const edge = await api.ok("POST", "/edges/https", { hostports: ["mine.postern.test:443"] });
    const changed = await api.request("PATCH", `/edges/https/${edge.id}`, { body: { hostports: ["*.test:443"] } });
    assert.equal(changed.status, 409);
    assert.deepEqual((await api.ok("GET", "/reserved_domains?filter=obj.domain.startsWith('*')")).reserved_domains, []);
  });
});
