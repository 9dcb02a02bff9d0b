import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Browser } from "../support/browser.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import {
  authorizationUrl,
  askForm,
  codeFor,
  decide,
  discover,
  exchange,
  json,
  logIn,
  received,
  redirectUri,
  refresh,
  register,
  tokensFor,
} from "../support/oauth-client.ts";
import type { Asked, Tokens } from "../support/oauth-client.ts";
import { databases } from "../support/postgres.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const machine_clients = { enabled: true };
const lists = { email_addresses: ["ada@example.com"] };
const bearer = (token: string) => ({ accept: "application/json", authorization: `Bearer ${token}` });

describe("the guide of logins for programs", () => {
  it("the guide of logins for programs has a configuration that routes accept and clients discover", async () => {
    const guide = readFileSync(new URL("../../docs/guides/logins.md", import.meta.url), "utf8");
    const section = guide.slice(guide.indexOf("## Programs and MCP clients"));
    const config = JSON.parse(/```json\n([^]*?)```/.exec(section)?.[1] ?? "") as object;
    const world = await startLoginWorld();
    try {
      await world.route("/guide", config);
      const { resource, challenge } = await discover(world.browser(), `${world.origin()}/guide`);
      assert.equal(resource, `${world.origin()}/guide`);
      assert.match(challenge, /scope="access"/);
    } finally {
      await world.stop();
    }
  });
});

for (const { name, create } of databases) {
  for (const http of ["h1", "h2"] as const) {
    describe(`a client that is not a browser, on ${name} over ${http}`, () => {
      let world: LoginWorld;
      let drop: () => Promise<void>;
      let routeId: string;
      let mcp: string;
      before(async () => {
        const database = await create();
        ({ drop } = database);
        world = await startLoginWorld({ database: database.url });
        routeId = await world.route("/mcp", { oauth: { provider: { github: lists }, machine_clients } });
        await world.route("/other", { oauth: { provider: { github: {} }, machine_clients } });
        await world.route("/browsers", { oauth: { provider: { github: {} } } });
        Object.assign(world.providers, { person: ada });
        mcp = `${world.origin()}/mcp`;
      });
      after(async () => {
        await world.stop();
        await drop();
      });
      const browser = (): Browser => world.browser(http);
      const asked = async (one: Browser, path = "/mcp"): Promise<Asked> => {
        const { server, resource } = await discover(one, world.origin() + path);
        return { server, resource, clientId: await register(one, server) };
      };

      it(`a client on ${name} over ${http} discovers, registers, gets tokens with consent, and calls the service`, async () => {
        const one = browser();
        const { server, resource, challenge } = await discover(one, mcp);
        assert.equal(resource, mcp);
        assert.match(challenge, /scope="access"/);
        const clientId = await register(one, server);
        const begun = authorizationUrl({ server, resource, clientId });
        const page = await logIn(one, begun.url);
        assert.equal(page.status, 200, page.text);
        for (const shown of ["Test client", "app.localhost", "ada@example.com", "access", mcp]) {
          assert.ok(page.text.includes(shown), `${shown} is missing in ${page.text}`);
        }
        const back = received(await decide(one, page, "allow"));
        const code = { code: back.get("code") ?? "", verifier: begun.verifier };
        const answer = await exchange(one, { server, resource, clientId }, code);
        assert.equal(answer.status, 200, answer.text);
        const tokens = json(answer) as Tokens;
        assert.equal(tokens.expires_in, 3600);
        assert.equal(tokens.scope, "access");
        const called = await browser().ask(mcp, { method: "POST", body: "{}", headers: bearer(tokens.access_token) });
        assert.equal(called.status, 200, called.text);
        const fields = seen(called);
        assert.equal(fields["ngrok-auth-user-email"], "ada@example.com");
        assert.equal(fields["authorization"], undefined);
        assert.ok(fields["postern-assertion"]);
        assert.equal(JSON.stringify(fields).includes("postern_oa_"), false);
      });

      it(`I8: a client on ${name} over ${http} renews its tokens, and a second use of a refresh token ends the grant`, async () => {
        const one = browser();
        const wanted = await asked(one);
        const first = await tokensFor(one, wanted);
        const renewed = json(await refresh(one, wanted, first.refresh_token)) as Tokens;
        const call = async (token: string) => (await one.ask(mcp, { headers: bearer(token) })).status;
        await eventually(
          () => call(first.access_token),
          (status) => status === 401,
        );
        assert.equal(await call(renewed.access_token), 200);
        const again = await refresh(one, wanted, first.refresh_token);
        assert.equal(`${again.status} ${(json(again) as { error: string }).error}`, "400 invalid_grant");
        await eventually(
          () => call(renewed.access_token),
          (status) => status === 401,
        );
        assert.equal((await refresh(one, wanted, renewed.refresh_token)).status, 400);
      });

      it(`I8: a client on ${name} over ${http} loses access with its session, its token, the lists and the module`, async () => {
        const one = browser();
        const wanted = await asked(one);
        const call = async (token: string) => (await one.ask(mcp, { headers: bearer(token) })).status;
        const revoked = await tokensFor(one, wanted);
        assert.equal(await call(revoked.access_token), 200);
        const { revocation_endpoint: at } = wanted.server;
        assert.equal((await askForm(one, at, { token: revoked.access_token, client_id: wanted.clientId })).status, 200);
        await eventually(
          () => call(revoked.access_token),
          (status) => status === 401,
        );
        const tokens = await tokensFor(one, wanted);
        assert.equal(await call(tokens.access_token), 200);
        await world.change(routeId, {
          oauth: { provider: { github: { email_addresses: ["grace@example.com"] } }, machine_clients },
        });
        await eventually(
          () => call(tokens.access_token),
          (status) => status === 403,
        );
        await world.change(routeId, { oauth: { provider: { github: lists } } });
        await eventually(
          () => call(tokens.access_token),
          (status) => status === 401,
        );
        await world.change(routeId, { oauth: { provider: { github: lists }, machine_clients } });
        await eventually(
          () => call(tokens.access_token),
          (status) => status === 200,
        );
        const { body } = await world.platform.api("GET", "/app/sessions");
        for (const { id } of body.application_sessions as { id: string }[]) {
          await world.platform.api("DELETE", `/app/sessions/${id}`);
        }
        await eventually(
          () => call(tokens.access_token),
          (status) => status === 401,
        );
        assert.equal((await refresh(one, wanted, tokens.refresh_token)).status, 400);
      });

      it(`a client on ${name} over ${http} gets no code when the person declines`, async () => {
        const one = browser();
        const page = await logIn(one, authorizationUrl(await asked(one)).url);
        assert.equal(received(await decide(one, page, "deny")).get("error"), "access_denied");
        assert.notEqual((await decide(one, page, "allow")).status, 303, "the request is over");
      });

      it(`I8: a token on ${name} over ${http} opens no other route, and no route for browsers`, async () => {
        const one = browser();
        const { access_token } = await tokensFor(one, await asked(one));
        const at = async (path: string) => await one.ask(world.origin() + path, { headers: bearer(access_token) });
        const other = await at("/other");
        assert.equal(
          `${other.status} ${codeOf(other)}`,
          `401 ${errorCode("token_invalid").replace("ERR_POSTERN_", "")}`,
        );
        assert.equal((await at("/browsers")).status, 401);
        const visitor = browser();
        assert.equal((await visitor.visit(mcp)).status, 200);
        const cookie = visitor.cookieNames(mcp).find((one) => one.includes("session")) as string;
        const value = visitor.cookies(mcp).split(`${cookie}=`)[1]?.split(";")[0] as string;
        assert.equal((await one.ask(mcp, { headers: bearer(value) })).status, 401);
        visitor.setCookie(mcp, cookie, access_token);
        assert.equal((await visitor.ask(mcp, { headers: { accept: "application/json" } })).status, 401);
      });

      it(`I8: a code on ${name} over ${http} is valid once, for its client, redirect URI, verifier and resource`, async () => {
        const one = browser();
        const wanted = await asked(one);
        const faults: Record<string, Record<string, string>> = {
          client: { client_id: await register(one, wanted.server, ["http://127.0.0.1/other"]) },
          redirect: { redirect_uri: "http://127.0.0.1:4712/callback" },
          verifier: { code_verifier: "a".repeat(43) },
          resource: { resource: `${world.origin()}/other` },
        };
        for (const [what, changes] of Object.entries(faults)) {
          const code = await codeFor(one, wanted);
          assert.equal((await exchange(one, wanted, code, changes)).status, 400, what);
          assert.equal((await exchange(one, wanted, code)).status, 400, `${what}: the code is used up`);
        }
        const code = await codeFor(one, wanted);
        const tokens = json(await exchange(one, wanted, code)) as Tokens;
        assert.equal((await exchange(one, wanted, code)).status, 400);
        const call = async () => (await one.ask(mcp, { headers: bearer(tokens.access_token) })).status;
        await eventually(call, (status) => status === 401);
      });

      it(`I9: an authorization request on ${name} over ${http} is refused without a redirect unless its client is verified`, async () => {
        const one = browser();
        const wanted = await asked(one);
        const { issuer } = wanted.server;
        const refused: Record<string, Record<string, string | undefined>> = {
          "another redirect URI": { redirect_uri: "https://evil.example/callback" },
          "another path": { redirect_uri: "http://127.0.0.1:4711/callback/../evil" },
          "a public http URI": { redirect_uri: "http://evil.example/callback" },
          "a script": { redirect_uri: "javascript:alert(1)" },
          credentials: { redirect_uri: "http://127.0.0.1:4711@evil.example/callback" },
          "another client": { client_id: "unknown" },
          "a forged client": { client_id: `${wanted.clientId.slice(0, -4)}AAAA` },
          "no resource": { resource: undefined },
          "a foreign resource": { resource: "https://elsewhere.example/mcp" },
          "a route for browsers": { resource: `${world.origin()}/browsers` },
        };
        for (const [what, changes] of Object.entries(refused)) {
          const { status, headers } = await one.ask(authorizationUrl({ ...wanted, changes }).url, {
            headers: { accept: "text/html" },
          });
          assert.equal(`${status} ${String(headers.location)}`, "400 undefined", what);
        }
        const returned: Record<string, Record<string, string | undefined>> = {
          invalid_request: { code_challenge: undefined },
          unsupported_response_type: { response_type: "token" },
          invalid_scope: { scope: "admin" },
        };
        for (const [error, changes] of Object.entries(returned)) {
          const back = received(await one.ask(authorizationUrl({ ...wanted, changes }).url));
          assert.deepEqual([back.get("error"), back.get("iss")], [error, issuer]);
        }
        const plain = received(
          await one.ask(authorizationUrl({ ...wanted, changes: { code_challenge_method: "plain" } }).url),
        );
        assert.equal(plain.get("error"), "invalid_request");
      });

      it(`I9: a consent page on ${name} over ${http} counts only in the browser that began, and in no frame`, async () => {
        const one = browser();
        const wanted = await asked(one);
        const begun = authorizationUrl(wanted);
        const page = await logIn(one, begun.url);
        assert.match(String(page.headers["content-security-policy"]), /frame-ancestors 'none'/);
        assert.match(String(page.headers["content-security-policy"]), /form-action 'self' http:\/\/127\.0\.0\.1:4711;/);
        assert.equal(page.headers["x-frame-options"], "DENY");
        const stolen = await browser().ask(page.url, { headers: { accept: "text/html" } });
        assert.equal(stolen.status, 400);
        assert.equal((await decide(browser(), page, "allow")).status, 400);
        const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
        const fromElsewhere = await one.ask(page.url.split("?")[0] as string, {
          method: "POST",
          body: new URLSearchParams({ ticket, decision: "allow" }).toString(),
          headers: { "sec-fetch-site": "cross-site" },
        });
        assert.equal(fromElsewhere.status, 400);
        assert.equal((await decide(one, page, "allow")).status, 303);
      });

      it(`a redirect URI on ${name} over ${http} of the client's own machine may have any port`, async () => {
        const one = browser();
        const wanted = { ...(await asked(one)), redirectUri: redirectUri.replace("4711", "50123") };
        assert.ok((await tokensFor(one, wanted)).access_token);
      });
    });
  }
}
