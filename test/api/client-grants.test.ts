/** Lifetimes of codes and refresh tokens of clients that are not browsers, with a clock that the test moves. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type {
  AuthorizationAnswer,
  AuthorizationQuestion,
} from "../../src/identity/machines/authorization-questions.ts";
import { makePendingGrant } from "../../src/identity/sessions/grant.ts";
import { cookieHash } from "../../src/identity/sessions/login-session.ts";
import { newId } from "../../src/lib/ids.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { ada } from "../support/guarded.ts";
import { databases } from "../support/postgres.ts";

const day = 86_400_000;
const client = { clientId: "https://client.example/metadata.json", redirectUri: "https://client.example/cb" };
const resource = "https://app.example.com/mcp";

for (const database of databases) {
  describe(`grants on ${database.name}`, () => {
    const clock = movableClock();
    let api: TestApi;
    let accountId: string;
    let calls = 0;
    before(async () => {
      api = await startApi(database, { clock });
      accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
      api.edge.send({ type: "hello", edgeId: "edge" });
    });
    after(() => api.stop());

    const answered = async (type: Downward["type"], send: (call: number) => void): Promise<Downward> => {
      const call = (calls += 1);
      send(call);
      return (await eventually(
        () => api.edge.received.find((one) => one.type === type && "call" in one && one.call === call),
        Boolean,
      )) as Downward;
    };
    const ask = async (question: AuthorizationQuestion, of = accountId): Promise<AuthorizationAnswer> => {
      const message = await answered("authorization_answered", (call) =>
        api.edge.send({ type: "authorization_asked", call, accountId: of, question }),
      );
      return (message as Extract<Downward, { type: "authorization_answered" }>).answer;
    };
    /** @param latest end of the login at the provider; 0 if it has none */
    const codeOf = async (latest = 0) => {
      const now = clock.now();
      const id = newId("appses", now);
      const common = { realm: "aaaaaaaa", host: "app.example.com", siteId: "edge", routeId: "route", clientId: "c" };
      const session = {
        ...common,
        id,
        accountId,
        userId: newId("appusr", now),
        cookieHash: cookieHash(id),
        providerName: "GitHub",
        providerUrl: "https://github.com",
        loginAt: now,
        lastActive: now,
        checkedAt: now,
        scopes: [],
        identity: ada,
        accessToken: "",
        refreshToken: "",
        idToken: "",
        maximumDuration: 0,
        inactivityTimeout: 0,
        grant: makePendingGrant(latest),
      };
      const browser = { userAgent: "curl/8.0", address: "192.0.2.1", publicUrl: resource };
      await answered("login_stored", (call) => api.edge.send({ type: "login", call, session, browser }));
      const verifier = randomBytes(32).toString("base64url");
      const approval = {
        ...client,
        clientName: "Client",
        challenge: createHash("sha256").update(verifier).digest("base64url"),
        resource,
        scopes: ["access"],
        audience: "route",
        accessTokenMinutes: 60,
        refreshTokenDays: 30,
        onlyIfKnown: false,
      };
      const given = await ask({ name: "approve", sessionId: id, approval });
      assert.equal(given.name, "code");
      return {
        name: "exchange",
        code: given.name === "code" ? given.code : "",
        verifier,
        ...client,
        resource,
      } as const;
    };
    const tokensOf = async (latest = 0) => {
      const given = await ask(await codeOf(latest));
      assert.equal(given.name, "tokens", JSON.stringify(given));
      return given as Extract<AuthorizationAnswer, { name: "tokens" }>;
    };
    const refresh = async (token: string) =>
      await ask({ name: "refresh", token, clientId: client.clientId, scope: "", resource });

    it(`I8: a code on ${database.name} expires after 60 seconds`, async () => {
      const [early, late] = [await codeOf(), await codeOf()];
      clock.move(58_000);
      assert.equal((await ask(early)).name, "tokens");
      clock.move(3_000);
      assert.equal((await ask(late)).name, "refused");
    });

    it(`I8: a refresh token on ${database.name} expires after its days, and each use begins them again`, async () => {
      const first = await tokensOf();
      clock.move(29 * day);
      const second = await refresh(first.refreshToken);
      assert.equal(second.name, "tokens");
      clock.move(29 * day);
      const third = await refresh(second.name === "tokens" ? second.refreshToken : "");
      assert.equal(third.name, "tokens");
      clock.move(31 * day);
      assert.equal((await refresh(third.name === "tokens" ? third.refreshToken : "")).name, "refused");
    });

    it(`I8: a refresh token on ${database.name} does not outlive the login at the provider`, async () => {
      const { refreshToken } = await tokensOf(clock.now() + 2 * day);
      clock.move(day);
      const next = await refresh(refreshToken);
      assert.equal(next.name, "tokens");
      clock.move(2 * day);
      assert.equal((await refresh(next.name === "tokens" ? next.refreshToken : "")).name, "refused");
    });

    it(`I8: a refresh token on ${database.name} that two requests use at the same time ends its grant`, async () => {
      const { refreshToken } = await tokensOf();
      const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(refreshToken)));
      const renewed = answers.filter(({ name }) => name === "tokens");
      assert.equal(renewed.length, 1);
      const [one] = renewed;
      assert.equal((await refresh(one?.name === "tokens" ? one.refreshToken : "")).name, "refused");
    });

    it(`I8: tokens on ${database.name} are refused as another kind, for another client, and in another account`, async () => {
      const other = (await api.ok("POST", "/accounts", { name: "other" })).id as string;
      const code = await codeOf();
      assert.equal((await ask(code, other)).name, "refused");
      assert.equal((await refresh(code.code)).name, "refused");
      const { accessToken, refreshToken } = await ask(code).then((given) => {
        assert.equal(given.name, "tokens", JSON.stringify(given));
        return given as Extract<AuthorizationAnswer, { name: "tokens" }>;
      });
      assert.equal((await refresh(accessToken)).name, "refused");
      const asCode = { ...code, code: refreshToken };
      assert.equal((await ask(asCode)).name, "refused");
      const abroad = { name: "refresh", token: refreshToken, clientId: client.clientId, scope: "", resource } as const;
      assert.equal((await ask(abroad, other)).name, "refused");
      await ask({ name: "revoke", token: refreshToken, clientId: client.clientId }, other);
      const kept = await refresh(refreshToken);
      assert.equal(kept.name, "tokens", "another account revokes nothing");
      const stolen = {
        ...abroad,
        token: kept.name === "tokens" ? kept.refreshToken : "",
        clientId: "https://evil.example/c",
      };
      assert.equal((await ask(stolen)).name, "refused");
      assert.equal((await ask({ ...stolen, clientId: client.clientId })).name, "refused", "the grant has ended");
    });

    it(`I9: a flood of registrations on ${database.name} stores nothing`, async () => {
      const before = (await api.request("GET", "/ip_policies?limit=1")).headers["postern-revision"];
      const metadata = JSON.stringify({ client_name: "x".repeat(80), redirect_uris: ["http://127.0.0.1/cb"] });
      const answers = await Promise.all(Array.from({ length: 300 }, () => ask({ name: "register", metadata })));
      const ids = answers.flatMap((one) =>
        one.name === "registered" ? [(JSON.parse(one.client) as { client_id: string }).client_id] : [],
      );
      assert.equal(ids.length, 300);
      const after = (await api.request("GET", "/ip_policies?limit=1")).headers["postern-revision"];
      assert.equal(after, before);
      const asked = { name: "client", redirectUri: "http://127.0.0.1:9/cb", clientIds: [], redirectUris: [] } as const;
      const [clientId = ""] = ids;
      assert.equal((await ask({ ...asked, clientId, registration: ["dynamic"] })).name, "client");
      const other = (await api.ok("POST", "/accounts", { name: "flooded" })).id as string;
      assert.equal((await ask({ ...asked, clientId, registration: ["dynamic"] }, other)).name, "refused");
      assert.equal((await ask({ ...asked, clientId, registration: ["metadata", "listed"] })).name, "refused");
      const wide = JSON.stringify({ redirect_uris: Array.from({ length: 6 }, (_, at) => `http://127.0.0.1/${at}`) });
      assert.equal((await ask({ name: "register", metadata: wide })).name, "refused");
    });
  });
}
