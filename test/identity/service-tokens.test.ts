/** Machines without a person, which pass logins with a service token. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { ApiBody } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const machine_clients = { enabled: true, registration: [], scopes: ["access", "write"] };
const rules = [{ scope: "write", expression: 'req.method == "POST"' }];
const github = { provider: { github: { email_addresses: ["ada@example.com"] } } };
const bearer = (token: string) => ({ accept: "application/json", authorization: `Bearer ${token}` });
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

for (const { name, create } of databases) {
  describe(`service tokens on ${name}`, { timeout: 240_000 }, () => {
    let world: LoginWorld;
    let drop: () => Promise<void>;
    let routeId: string;
    before(async () => {
      const database = await create();
      ({ drop } = database);
      world = await startLoginWorld({ database: database.url });
      routeId = await world.route("/api", {
        oauth: { ...github, machine_clients: { ...machine_clients, scope_rules: rules } },
      });
      await world.route("/other", { oauth: { ...github, machine_clients } });
      await world.route("/browsers", { oauth: github });
      await world.route("/open", {});
      const rule = { type: "oauth", config: { provider: "github", machine_clients } };
      await world.route("/rule", {
        traffic_policy: { value: JSON.stringify({ on_http_request: [{ actions: [rule] }] }) },
      });
    });
    after(async () => {
      await world.stop();
      await drop();
    });
    const make = async (given: object = {}): Promise<ApiBody> => {
      const made = await world.platform.api("POST", "/service_tokens", {
        name: "nightly-report",
        acl: ["app.localhost/api"],
        ...given,
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      return made.body;
    };
    const at = (path: string, host?: string): string => world.origin(host) + path;

    for (const http of protocols) {
      const ask = async (path: string, headers: Record<string, string>, method = "GET") =>
        await world.browser(http).ask(at(path), { method, headers });
      const statusOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).status;

      it(`I10: a service token on ${name} over ${http} reaches the service as a machine, by Bearer and by Basic`, async () => {
        const { id, token } = await make();
        assert.match(token, /^postern_st_/);
        for (const headers of [bearer(token), basic("robot", token), basic(token, "")]) {
          const answer = await ask("/api/x", headers);
          assert.equal(answer.status, 200, answer.text);
          const fields = seen(answer);
          assert.equal(fields["ngrok-auth-user-id"], id);
          assert.equal(fields["ngrok-auth-user-name"], "nightly-report");
          assert.equal(fields["ngrok-auth-user-email"], undefined);
          assert.equal(fields["authorization"], undefined);
          const claims = JSON.parse(
            Buffer.from(fields["postern-assertion"]?.split(".")[1] ?? "", "base64url").toString(),
          ) as { sub: string; name: string; idp: string };
          assert.deepEqual([claims.sub, claims.name, claims.idp], [id, "nightly-report", "urn:postern:service-token"]);
        }
        const shown = await world.platform.api("GET", `/service_tokens/${id}`);
        assert.equal(shown.body.token, null);
        assert.ok(!JSON.stringify(shown.body).includes("hash"));
      });

      it(`I10: a service token on ${name} over ${http} opens only what its acl names, where machines are admitted`, async () => {
        const { token } = await make({ acl: ["app.localhost/api", "app.localhost/browsers"] });
        const outside = await ask("/other", bearer(token));
        assert.equal(`${outside.status} ${codeOf(outside)}`, `403 ${errorCode("service_token_unlisted").slice(-4)}`);
        assert.equal(await statusOf("/apix", bearer(token)), 404);
        assert.equal(await statusOf("/browsers", bearer(token)), 401, "a route for browsers");
        const elsewhere = await world.browser(http).ask(at("/api", "other.localhost"), { headers: bearer(token) });
        assert.equal(elsewhere.status, 403);
        const open = await ask("/open", basic("robot", token));
        assert.equal(open.status, 200);
        assert.equal(seen(open)["authorization"], undefined, "no service of the host receives a token");
        const byRoute = await make({ acl: [routeId] });
        assert.equal(await statusOf("/api", bearer(byRoute.token)), 200);
        assert.equal(await statusOf("/other", bearer(byRoute.token)), 403);
        const byHosts = await make({ acl: ["*.localhost"] });
        for (const path of ["/api", "/other", "/rule"]) assert.equal(await statusOf(path, bearer(byHosts.token)), 200);
      });

      it(`I10: a text on ${name} over ${http} that is no service token is refused`, async () => {
        const { token } = await make();
        const wrong = [
          `${token}x`,
          token.slice(0, -1),
          `${token.slice(0, -8)}00000000`,
          token.toUpperCase(),
          "postern_st_",
        ];
        for (const one of wrong) {
          assert.equal(await statusOf("/api", bearer(one)), 401, one);
          assert.equal(await statusOf("/api", basic("robot", one)), 401, one);
        }
        const browser = world.browser(http);
        browser.setCookie(at("/api"), "__Host-service.session.aaaaaaaa", token);
        assert.equal((await browser.ask(at("/api"), { headers: { accept: "application/json" } })).status, 401);
        assert.equal(await statusOf("/api", { accept: "application/json", "x-api-key": token }), 401);
      });

      it(`a service token on ${name} over ${http} needs the scopes of the route's rules`, async () => {
        const { token } = await make();
        const lacking = await ask("/api", bearer(token), "POST");
        assert.equal(lacking.status, 403);
        assert.match(String(lacking.headers["www-authenticate"]), /error="insufficient_scope".*scope="access write"/);
        const more = await make({ scopes: ["write"] });
        assert.equal(await statusOf("/api", bearer(more.token), "POST"), 200);
      });

      it(`I10: a service token on ${name} over ${http} is rotated with both valid for a while, and revoked at once`, async () => {
        const { id, token: first } = await make();
        const rotate = async (body: object): Promise<string> => {
          const answer = await world.platform.api("POST", `/service_tokens/${id}/rotate`, body);
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          return answer.body.token as string;
        };
        const second = await rotate({ previous_valid_minutes: 10 });
        for (const token of [first, second]) {
          await eventually(
            async () => await statusOf("/api", bearer(token)),
            (status) => status === 200,
          );
        }
        const third = await rotate({ previous_valid_minutes: 0 });
        const becomes = async (token: string, wanted: number) =>
          await eventually(
            async () => await statusOf("/api", bearer(token)),
            (status) => status === wanted,
          );
        await becomes(third, 200);
        await becomes(second, 401);
        await becomes(first, 401);
        await world.platform.api("PATCH", `/service_tokens/${id}`, { acl: ["app.localhost/other"] });
        await becomes(third, 403);
        assert.equal((await world.platform.api("DELETE", `/service_tokens/${id}`)).status, 204);
        await becomes(third, 401);
      });
    }

    it(`service tokens on ${name} survive a restart, and are named by explain and by the trace`, async () => {
      const { id, token } = await make();
      await world.platform.restart();
      const one = world.browser();
      const answer = await one.ask(at("/api"), { headers: bearer(token) });
      assert.equal(answer.status, 200, answer.text);
      const found = await eventually(
        async () => (await world.platform.api("GET", `/requests/${String(answer.headers["x-request-id"])}`)).body,
        (body) => body.status_code === 200,
      );
      assert.ok(JSON.stringify(found).includes(`service token ${id}`), JSON.stringify(found));
      assert.ok(!JSON.stringify(found).includes(token));
      const explained = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, {
        host: "app.localhost",
        path: "/api",
        headers: { authorization: `Bearer ${token}` },
      });
      assert.ok(JSON.stringify(explained.body).includes(`service token ${id}`), JSON.stringify(explained.body));
      assert.ok(!JSON.stringify(explained.body).includes(token));
    });
  });
}
