/** People of the console: invitations, passkeys, roles, and the end of their access. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { startApi, withStore } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { makeAuthenticator } from "../support/passkeys.ts";
import type { Authenticator, Place } from "../support/passkeys.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const dayMs = 24 * 60 * 60_000;

interface Entered {
  readonly cookie: string;
  readonly token: string;
  readonly session: Body;
}

for (const database of databases) {
  describe(`people of the console on ${database.name}`, () => {
    const clock = movableClock();
    let api: TestApi;
    let origin: string;
    before(async () => {
      api = await startApi(database, { clock });
      origin = `http://localhost:${new URL(api.baseUrl).port}`;
    });
    after(() => api.stop());

    const post = (path: string, body: Body, headers: Readonly<Record<string, string | undefined>> = {}) =>
      api.request("POST", path, { headers: { authorization: undefined, origin: api.baseUrl, ...headers }, body });
    const invite = (email: string, role = "viewer", key?: string): Promise<Body> =>
      api.ok("POST", "/person_invitations", { email, role }, key);
    const codeOf = ({ url }: Body): string => new URL(url).hash.replace("#invite=", "");
    const look = (code: string): Promise<ApiResponse> => post("/console/invitation", { code });
    const entered = ({ status, text, headers, body }: ApiResponse): Entered => {
      assert.equal(status, 200, text);
      const cookie = String(headers["set-cookie"]).split(";", 1)[0] ?? "";
      return { cookie, token: body.page_token, session: body };
    };
    const accept = async (
      made: Body,
      authenticator: Authenticator,
      at: Partial<Place> = {},
      name = "Ann Example",
    ): Promise<ApiResponse> => {
      const code = codeOf(made);
      const { body } = await look(code);
      const response = authenticator.register(body.options, { origin, ...at });
      return await post("/console/invitation/accept", { code, name, response });
    };
    const assertion = async (authenticator: Authenticator, at: Partial<Place> = {}): Promise<Body> => {
      const { body } = await post("/console/passkey/options", {});
      return { response: authenticator.assert(body.options, { origin, ...at }) };
    };
    const logIn = async (authenticator: Authenticator, at: Partial<Place> = {}): Promise<ApiResponse> =>
      await post("/console/passkey", await assertion(authenticator, at));
    const join = async (email: string, role = "viewer") => {
      const authenticator = makeAuthenticator();
      const opened = entered(await accept(await invite(email, role), authenticator));
      const { people } = await api.ok("GET", "/people");
      return { ...opened, authenticator, person: people.find((one: Body) => one.email === email) };
    };
    const ask = ({ cookie, token }: Entered, method: string, path: string, body?: Body): Promise<ApiResponse> =>
      api.request(method, path, {
        headers: { authorization: undefined, origin: api.baseUrl, cookie, "postern-console-token": token },
        ...(body !== undefined && { body }),
      });
    const refusedAs = ({ body }: ApiResponse, name: RefusalName): void => {
      assert.equal(body.error_code, errorCode(name), JSON.stringify(body));
    };

    it(`P13: people of the console on ${database.name} get in by a link that works once, and then by their passkey`, async () => {
      const made = await invite("Ann@Example.com", "editor");
      assert.ok(made.url.startsWith(`${origin}/#invite=`), made.url);
      assert.equal(Date.parse(made.expires_at), Math.floor((clock.now() + 3 * dayMs) / 1000) * 1000);
      const seen = await look(codeOf(made));
      assert.deepEqual([seen.body.email, seen.body.role, seen.body.account], ["ann@example.com", "editor", "default"]);
      const authenticator = makeAuthenticator();
      const first = entered(await accept(made, authenticator));
      assert.deepEqual(first.session.person, { email: "ann@example.com", name: "Ann Example", role: "editor" });
      refusedAs(await look(codeOf(made)), "person_invitation_spent");
      const again = entered(await logIn(authenticator));
      assert.equal((await ask(again, "POST", "/ip_policies", { description: "by ann" })).status, 201);
      const { revisions } = await api.ok("GET", "/revisions?limit=1");
      assert.deepEqual([revisions[0].principal, revisions[0].operation], ["person ann@example.com", "createIPPolicy"]);
      const { people } = await api.ok("GET", "/people");
      assert.ok(people[0].last_login_at);
      const { console_sessions: sessions } = await api.ok("GET", "/console_sessions");
      assert.equal(sessions[0].person, "person ann@example.com");
    });

    it(`K5: people of the console on ${database.name} are invited by codes that are shown once and stored as hashes`, async () => {
      const place = await database.create();
      const own = await startApi(database, { databaseUrl: place.url });
      const made = await own.ok("POST", "/person_invitations", { email: "kay@example.com" });
      const code = codeOf(made);
      const paths = ["/person_invitations", `/person_invitations/${made.id}`, "/revisions"];
      const texts = await Promise.all(paths.map((path) => own.request("GET", path)));
      await own.stop();
      for (const { text } of texts) assert.ok(!text.includes(code));
      await withStore(place.url, async (store) => {
        const stored = JSON.stringify([...store.objects(new Set(["person_invitation"]))]);
        assert.ok(stored.includes(made.id) && !stored.includes(code));
      });
      await place.drop();
    });

    it(`P13: people of the console on ${database.name} cannot use an expired, a deleted or another link`, async () => {
      const [expired, deleted] = [await invite("exp@example.com"), await invite("del@example.com")];
      await api.ok("DELETE", `/person_invitations/${deleted.id}`);
      refusedAs(await look(codeOf(deleted)), "person_invitation_spent");
      refusedAs(await look("0".repeat(40)), "person_invitation_spent");
      refusedAs(await post("/console/invitation", {}), "person_invitation_spent");
      assert.equal((await look(codeOf(expired))).status, 200);
      clock.move(3 * dayMs);
      refusedAs(await look(codeOf(expired)), "person_invitation_spent");
    });

    it(`P13: people of the console on ${database.name} who use the same link at the same time become one person`, async () => {
      const made = await invite("two@example.com");
      const answers = await Promise.all([accept(made, makeAuthenticator()), accept(made, makeAuthenticator())]);
      assert.deepEqual(
        answers.map(({ status }) => status).sort((a, b) => a - b),
        [200, 401],
      );
      const { people } = await api.ok("GET", "/people");
      assert.equal(people.filter((one: Body) => one.email === "two@example.com").length, 1);
    });

    it(`P13: people of the console on ${database.name} have the rights of their role now, and no others`, async () => {
      const roles = ["viewer", "editor", "admin", "operator"];
      const people = await Promise.all(roles.map((role) => join(`${role}@example.com`, role)));
      const tries = (one: Entered) =>
        Promise.all([
          ask(one, "GET", "/ip_policies"),
          ask(one, "POST", "/ip_policies", {}),
          ask(one, "POST", "/api_keys", {}),
          ask(one, "POST", "/accounts", { name: `made ${clock.now()}` }),
        ]);
      const results = await Promise.all(people.map(tries));
      assert.deepEqual(
        results.map((answers) => answers.map(({ status }) => status)),
        [
          [200, 403, 403, 403],
          [200, 201, 403, 403],
          [200, 201, 201, 403],
          [200, 201, 201, 201],
        ],
      );
      const [viewer, , admin] = people as [(typeof people)[0], unknown, (typeof people)[0]];
      await api.ok("PATCH", `/people/${viewer.person.id}`, { role: "editor" });
      assert.equal((await ask(viewer, "POST", "/ip_policies", {})).status, 201);
      await api.ok("PATCH", `/people/${admin.person.id}`, { role: "viewer" });
      assert.equal((await ask(admin, "POST", "/ip_policies", {})).status, 403);
    });

    it(`P13: people of the console on ${database.name} and limited keys cannot give more rights than they have`, async () => {
      const editor = await join("ed@example.com", "editor");
      const admin = await join("ad@example.com", "admin");
      const operator = await join("op@example.com", "operator");
      const asks = (who: Entered, role: string): Promise<ApiResponse> =>
        ask(who, "POST", "/person_invitations", { email: `by-${role}@example.com`, role });
      refusedAs(await asks(editor, "admin"), "scope_missing");
      refusedAs(await asks(admin, "operator"), "operator_only");
      assert.equal((await asks(operator, "operator")).status, 201);
      refusedAs(await ask(editor, "PATCH", `/people/${editor.person.id}`, { role: "admin" }), "scope_missing");
      refusedAs(await ask(editor, "PATCH", `/people/${admin.person.id}`, { role: "viewer" }), "scope_missing");
      refusedAs(await ask(admin, "PATCH", `/people/${operator.person.id}`, { active: false }), "operator_only");
      // A link for an existing person adds a passkey, so it needs the rights of that person.
      const takesOver = { email: "ad@example.com", role: "viewer" };
      refusedAs(await ask(editor, "POST", "/person_invitations", takesOver), "scope_missing");
      const { token } = await api.ok("POST", "/api_keys", { expires_at: new Date(clock.now() + dayMs).toISOString() });
      const body = { email: "late@example.com" };
      refusedAs(await api.request("POST", "/person_invitations", { key: token, body }), "invalid_field");
    });

    it(`P13: people of the console on ${database.name} lose access immediately with their person, passkey, session or activity`, async () => {
      const ends: readonly ((one: Body) => Promise<unknown>)[] = [
        ({ person }) => api.ok("DELETE", `/people/${person.id}`),
        ({ person }) => api.ok("PATCH", `/people/${person.id}`, { active: false }),
        async ({ person }) => {
          const { passkeys } = await api.ok("GET", `/passkeys?person_id=${person.id}`);
          await api.ok("DELETE", `/passkeys/${passkeys[0].id}`);
        },
        ({ session }) => api.ok("DELETE", `/console_sessions/${session.id}`),
      ];
      for (const [at, end] of ends.entries()) {
        const one = await join(`end${at}@example.com`, "admin");
        assert.equal((await ask(one, "GET", "/ip_policies")).status, 200);
        await end(one);
        refusedAs(await ask(one, "GET", "/ip_policies"), "console_session_ended");
        const { console_sessions: sessions } = await api.ok("GET", "/console_sessions");
        assert.ok(sessions.every(({ id }: Body) => id !== one.session.id));
        if (at < 3) refusedAs(await logIn(one.authenticator), "passkey_refused");
      }
    });

    it(`P13: people of the console on ${database.name} log in only with a fresh signature for this page, once`, async () => {
      const { authenticator } = await join("sig@example.com");
      const right = await assertion(authenticator);
      assert.equal((await post("/console/passkey", right)).status, 200);
      refusedAs(await post("/console/passkey", right), "passkey_refused");
      const late = await assertion(authenticator);
      clock.move(5 * 60_000);
      refusedAs(await post("/console/passkey", late), "passkey_refused");
      const wrong: readonly Partial<Place>[] = [
        { origin: "https://evil.example" },
        { origin: "http://localhost:1" },
        { rpId: "evil.example" },
        { isVerified: false },
      ];
      for (const at of wrong) refusedAs(await logIn(authenticator, at), "passkey_refused");
      refusedAs(await logIn(makeAuthenticator()), "passkey_refused");
      const forged = await assertion(authenticator);
      forged.response.response.signature = (await assertion(authenticator)).response.response.signature;
      refusedAs(await post("/console/passkey", forged), "passkey_refused");
      const other = await assertion(authenticator);
      other.response.response.userHandle = Buffer.from("somebody").toString("base64url");
      refusedAs(await post("/console/passkey", other), "passkey_refused");
      for (const odd of [{}, { response: null }, { response: [] }, { response: { id: 7 } }, { response: "x" }]) {
        refusedAs(await post("/console/passkey", odd), "passkey_refused");
      }
      const unmade = authenticator.assert({ challenge: Buffer.alloc(62).toString("base64url") }, { origin });
      refusedAs(await post("/console/passkey", { response: unmade }), "passkey_refused");
    });

    it(`P13: people of the console on ${database.name} register only passkeys that verified them on this page, for their link`, async () => {
      const made = await invite("reg@example.com");
      for (const at of [{ origin: "https://evil.example" }, { isVerified: false }, { rpId: "evil.example" }]) {
        refusedAs(await accept(made, makeAuthenticator(), at), "passkey_refused");
      }
      const other = await invite("oth@example.com");
      const { body } = await look(codeOf(other));
      const response = makeAuthenticator().register(body.options, { origin });
      refusedAs(await post("/console/invitation/accept", { code: codeOf(made), response }), "passkey_refused");
      assert.equal((await accept(made, makeAuthenticator())).status, 200, "the link is not used up by refusals");
    });

    it(`P13: people of the console on ${database.name} who lost their passkey get another one by a new link, and keep their role`, async () => {
      const { person } = await join("lost@example.com", "editor");
      const made = await invite("lost@example.com", "viewer");
      assert.equal(made.role, "editor");
      const authenticator = makeAuthenticator();
      const opened = entered(await accept(made, authenticator, {}, "Another name"));
      assert.deepEqual(opened.session.person, { email: "lost@example.com", name: "Ann Example", role: "editor" });
      assert.equal((await api.ok("GET", `/passkeys?person_id=${person.id}`)).passkeys.length, 2);
      const stale = await invite("lost@example.com");
      await api.ok("PATCH", `/people/${person.id}`, { role: "admin" });
      refusedAs(await look(codeOf(stale)), "person_invitation_spent");
    });

    it(`P10: people of the console on ${database.name} are not logged in by pages of other sites`, async () => {
      const { authenticator } = await join("site@example.com");
      const body = await assertion(authenticator);
      for (const headers of [
        { origin: "https://evil.example" },
        { origin: undefined },
        { "sec-fetch-site": "cross-site" },
      ]) {
        refusedAs(await post("/console/passkey", body, headers), "console_origin_refused");
      }
    });

    it(`D9: wrong invitation codes and passkeys at the console on ${database.name} are limited per address`, async () => {
      const own = await startApi(database, { clock, limits: { wrongKeysPerMinute: 4 } });
      try {
        const statuses = [];
        for (let count = 0; count < 6; count += 1) {
          const path = count % 2 === 0 ? "/console/invitation" : "/console/passkey";
          const body = count % 2 === 0 ? { code: `wrong${count}` } : { response: { id: "wrong", response: {} } };
          const headers = { authorization: undefined, origin: own.baseUrl };
          statuses.push((await own.request("POST", path, { headers, body })).status);
        }
        assert.deepEqual(statuses, [401, 401, 401, 401, 429, 429]);
      } finally {
        await own.stop();
      }
    });

    it(`people of the console on ${database.name} need a name, because browsers have no passkeys for addresses`, async () => {
      for (const apiUrl of ["http://192.0.2.1:4040", "http://postern.example.com"]) {
        const own = await startApi(database, { apiUrl });
        try {
          const answer = await own.request("POST", "/person_invitations", { body: { email: "ann@example.com" } });
          refusedAs(answer, "console_name_needed");
        } finally {
          await own.stop();
        }
      }
    });
  });
}

it("P13: people of the console at two nodes get in at either, and lose access at both immediately", async (context) => {
  const postgres = databases.find(({ name }) => name === "postgres");
  if (!postgres) return context.skip(skipWithoutPostgres || "");
  const database = await postgres.create();
  const options = { databaseUrl: database.url, cluster: true, apiUrl: "https://postern.example.com" } as const;
  const one = await startApi(postgres, options);
  const other = await startApi(postgres, { ...options, bootstrap: { apiKey: one.apiKey } });
  const origin = options.apiUrl;
  const host = new URL(origin).host;
  const ask = (at: TestApi, method: string, path: string, more: object, body?: Body): Promise<ApiResponse> =>
    at.request(method, path, {
      headers: { authorization: undefined, origin, host, "x-forwarded-proto": "https", ...more },
      ...(body !== undefined && { body }),
    });
  try {
    const { url } = await one.ok("POST", "/person_invitations", { email: "ann@example.com", role: "admin" });
    assert.ok(url.startsWith(`${origin}/#invite=`));
    const code = new URL(url).hash.replace("#invite=", "");
    const authenticator = makeAuthenticator();
    const { body } = await ask(one, "POST", "/console/invitation", {}, { code });
    const response = authenticator.register(body.options, { origin });
    const accepted = await ask(other, "POST", "/console/invitation/accept", {}, { code, response });
    assert.equal(accepted.status, 200, accepted.text);
    const begun = await ask(other, "POST", "/console/passkey/options", {}, {});
    const login = { response: authenticator.assert(begun.body.options, { origin }) };
    const entered = await ask(one, "POST", "/console/passkey", {}, login);
    assert.equal(entered.status, 200, entered.text);
    assert.equal((await ask(other, "POST", "/console/passkey", {}, login)).status, 401, "used at the other node");
    const cookie = String(entered.headers["set-cookie"]).split(";", 1)[0] ?? "";
    for (const at of [one, other]) assert.equal((await ask(at, "GET", "/ip_policies", { cookie })).status, 200);
    const { people } = await one.ok("GET", "/people");
    await one.ok("DELETE", `/people/${people[0].id}`);
    for (const at of [one, other]) {
      await eventually(
        async () => (await ask(at, "GET", "/ip_policies", { cookie })).status,
        (status) => status === 401,
      );
    }
  } finally {
    await Promise.all([one.stop(), other.stop()]);
    await database.drop();
  }
});
