/** Events of logins, from a visitor's browser to the subscribers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { Person } from "../support/oauth-providers.ts";
import type { ApiBody } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const types = ["login_completed.v0", "login_refused.v0", "login_ended.v0", "application_session_deleted.v0"];
const github = { name: "GitHub", url: "https://github.com" };

for (const { name, create } of databases) {
  describe(`events of logins on ${name}`, { timeout: 60_000 }, () => {
    let world: LoginWorld;
    let drop: () => Promise<void>;
    let routes: Record<string, string>;
    const events: ApiBody[] = [];
    const receiver = createServer((request, response) => {
      let text = "";
      request.on("data", (bytes: Buffer) => (text += bytes.toString()));
      request.on("end", () => {
        events.push({ ...JSON.parse(text), text });
        response.end();
        receiver.emit("counted");
      });
    });
    /** Returns the first event that the test has not read yet. */
    const next = async (type: string): Promise<ApiBody> => {
      for (;;) {
        const at = events.findIndex(({ event_type }) => event_type === type);
        if (at >= 0) return events.splice(at, 1)[0];
        await once(receiver, "counted");
      }
    };
    before(async () => {
      receiver.listen(0, "127.0.0.1");
      await once(receiver, "listening");
      const database = await create();
      ({ drop } = database);
      world = await startLoginWorld({ database: database.url });
      routes = {
        "/": await world.route("/", { oauth: { provider: { github: {} } } }),
        "/api": await world.route("/api", {
          oauth: { provider: { github: { email_addresses: ["eve@example.com"] } } },
        }),
        "/google": await world.route("/google", {
          oauth: { provider: { google: { email_domains: ["example.org"] } } },
        }),
      };
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const made = await world.platform.api("POST", "/event_destinations", { target: { webhook: { url } } });
      const sources = types.map((type) => ({ type }));
      const destination_ids = [made.body.id];
      const subscribed = await world.platform.api("POST", "/event_subscriptions", { sources, destination_ids });
      assert.equal(subscribed.status, 201, subscribed.text);
    });
    after(async () => {
      await world.stop();
      await drop();
      receiver.closeAllConnections();
      receiver.close();
    });
    beforeEach(() => {
      Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined });
    });
    const at = (path: string): string => world.origin() + path;

    for (const http of ["h1", "h2"] as const) {
      it(`events of logins on ${name} report over ${http} who logged in and out, and no secret`, async () => {
        const browser = world.browser(http);
        await browser.visit(at("/x?secret=in-the-query"), { headers: { "user-agent": "tester/2" } });
        const cookies = browser.cookies(at("/"));
        const { object, text, ...head } = await next("login_completed.v0");
        const [session] = (await world.platform.api("GET", "/app/sessions")).body.application_sessions;
        const [user] = (await world.platform.api("GET", "/app/users")).body.application_users;
        assert.deepEqual([head.principal, head.account_id.slice(0, 3)], [null, "ac_"]);
        const { request_id, ...rest } = object;
        const expected = {
          site_id: world.edgeId,
          route_id: routes["/"],
          host: "app.localhost",
          identity_provider: github,
          client_id: "client-of-tests",
          application_user: {
            id: user.id,
            provider_user_id: "4711",
            username: "ada",
            email: "ada@example.com",
            name: "Ada Lovelace",
          },
          application_session_id: session.id,
          source_ip: "127.0.0.1",
        };
        assert.deepEqual(rest, {
          ...expected,
          user_agent: "",
          reason: "everyone who has logged in has access",
        });
        const trace = (await world.platform.api("GET", `/requests/${request_id}`)).body;
        assert.equal(trace.path, "/.postern/callback");

        const headers = { origin: world.origin(), "user-agent": "tester/3" };
        await browser.ask(at("/.postern/logout"), { method: "POST", body: "", headers });
        const ended = await next("login_ended.v0");
        assert.deepEqual(
          { ...ended.object, request_id: "" },
          {
            ...expected,
            request_id: "",
            user_agent: "tester/3",
            ended_by: "logged_out",
            reason: "the visitor has logged out",
          },
        );
        const values = cookies.split("; ").map((one) => one.slice(one.indexOf("=") + 1));
        const { state = "", code = "" } = Object.fromEntries(
          browser.asked.flatMap((url) => [...new URL(url).searchParams]),
        );
        for (const secret of [...values, state, code, "in-the-query", "at-", "secret-of-tests"]) {
          assert.ok(secret !== "" && !text.includes(secret) && !ended.text.includes(secret), secret);
        }
      });
    }

    it(`events of logins on ${name} report rejected people, with code and reason`, async () => {
      const browser = world.browser();
      world.providers.declines = "access_denied";
      await browser.visit(at("/"));
      const declined = (await next("login_refused.v0")).object;
      assert.deepEqual(
        [declined.error_code, declined.route_id, declined.identity_provider, declined.application_user],
        [errorCode("login_declined"), routes["/"], github, null],
      );
      assert.match(declined.reason, /access_denied/);
      world.providers.declines = undefined;
      await browser.visit(at("/google"));
      const unlisted = (await next("login_refused.v0")).object;
      assert.deepEqual(
        [unlisted.error_code, unlisted.application_user.email, unlisted.application_user.id],
        [errorCode("login_not_listed"), "ada@example.com", null],
      );
      assert.equal(unlisted.application_session_id, null);
      await browser.ask(at("/.postern/callback?code=x"), { headers: { accept: "text/html" } });
      const { object } = await next("login_refused.v0");
      assert.deepEqual(
        [object.error_code, object.identity_provider, object.site_id],
        [errorCode("login_state_missing"), null, null],
      );
    });

    it(`events of logins on ${name} report once that a logged-in person is not on the lists of a route`, async () => {
      const browser = world.browser();
      await browser.visit(at("/"));
      const { object } = await next("login_completed.v0");
      for (const path of ["/api/1", "/api/2", "/api/3"]) {
        assert.equal((await browser.ask(at(path), { headers: { accept: "text/html" } })).status, 403);
      }
      world.providers.declines = "access_denied";
      await world.browser().visit(at("/google"));
      const refused = [await next("login_refused.v0"), await next("login_refused.v0")].map((one) => one.object);
      const found = refused.find(({ route_id }) => route_id === routes["/api"]);
      assert.deepEqual(
        [found?.application_session_id, found?.application_user.id, found?.error_code],
        [object.application_session_id, object.application_user.id, errorCode("login_not_listed")],
      );
      assert.equal(
        refused.find(({ route_id }) => route_id === routes["/google"])?.error_code,
        errorCode("login_declined"),
      );
    });

    it(`events of logins on ${name} report that another login replaced a login`, async () => {
      const browser = world.browser();
      await browser.visit(at("/"));
      const first = (await next("login_completed.v0")).object;
      await browser.visit(`${at("/.postern/login")}?path=/&prompt=select_account`);
      const second = (await next("login_completed.v0")).object;
      const ended = (await next("login_ended.v0")).object;
      assert.equal(ended.application_session_id, first.application_session_id);
      assert.notEqual(second.application_session_id, first.application_session_id);
      assert.deepEqual([ended.ended_by, ended.request_id], ["replaced", second.request_id]);
    });

    it(`events of logins on ${name} report sessions whose login was removed`, async () => {
      const id = await world.route("/going", { oauth: { provider: { gitlab: {} } } });
      await world.browser().visit(at("/going"));
      const { object } = await next("login_completed.v0");
      await world.platform.api("DELETE", `/edges/https/${world.edgeId}/routes/${id}`);
      const ended = (await next("login_ended.v0")).object;
      const { reason, request_id, ended_by, source_ip, ...rest } = ended;
      assert.deepEqual([ended_by, request_id, source_ip], ["login_gone", null, null]);
      assert.match(reason, /no route of it requires this login/);
      const { application_session_id, application_user, route_id, host, client_id } = object;
      const same = { application_session_id, application_user, route_id, host, client_id };
      assert.deepEqual(
        { ...same, site_id: world.edgeId, identity_provider: rest.identity_provider, user_agent: null },
        rest,
      );
    });

    it(`events of logins on ${name}: a session deleted with a key is reported as a write, and types that no write has are rejected`, async () => {
      await world.browser().visit(at("/"));
      const { object } = await next("login_completed.v0");
      const { status } = await world.platform.api("DELETE", `/app/sessions/${object.application_session_id}`);
      assert.equal(status, 204);
      const deleted = await next("application_session_deleted.v0");
      assert.deepEqual(deleted.object, { id: object.application_session_id });
      const [revision] = (await world.platform.api("GET", "/revisions?limit=1")).body.revisions;
      assert.deepEqual(
        revision.changes.map(({ action, kind, id }: ApiBody) => [action, kind, id]),
        [["delete", "application_session", object.application_session_id]],
      );
      assert.match(deleted.principal.id, /^ak_/);
      assert.equal(
        events.find(({ event_type }) => event_type === "login_ended.v0"),
        undefined,
      );
      for (const type of ["application_session_created.v0", "application_user_updated.v0"]) {
        const [destination] = (await world.platform.api("GET", "/event_destinations")).body.event_destinations;
        const body = { sources: [{ type }], destination_ids: [destination.id] };
        const refused = await world.platform.api("POST", "/event_subscriptions", body);
        assert.equal(refused.status, 400, refused.text);
        assert.match(refused.text, /login_completed\.v0/);
      }
    });
  });
}
