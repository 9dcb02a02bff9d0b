/** Dry runs as a person: whether a route admits them, by which rule, and with which session. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { ApiBody } from "../support/platform.ts";

describe("an explanation as a person", { timeout: 60_000 }, () => {
  let world: LoginWorld;
  before(async () => {
    world = await startLoginWorld();
    const own = { client_id: "client-of-tests", client_secret: "secret-of-tests" };
    await world.route("/", {
      oauth: {
        provider: {
          github: {
            ...own,
            teams: ["Acme/Ops"],
            email_addresses: ["ada@example.com"],
            scopes: ["user:email", "read:org"],
          },
        },
      },
      request_headers: { add: { "x-who": "${.oauth.user.email} ${.oauth.decision}" } },
    });
    await world.route("/domain", { oauth: { provider: { google: { email_domains: ["example.com"] } } } });
    await world.route("/any", { oidc: { issuer: "https://op.example.com", client_id: "c", client_secret: "s" } });
    world.providers.person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
  });
  after(() => world.stop());
  const explain = async (
    path: string,
    as: object | null,
    headers: object = { accept: "text/html" },
  ): Promise<ApiBody> => {
    const asked = { method: "GET", url: world.origin() + path, headers, as };
    const answer = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, asked);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const reasonOf = ({ steps }: ApiBody): string =>
    steps.find(({ by }: ApiBody) => by === "oauth" || by === "oidc")?.reason ?? "";

  it("an explanation as a person names the rule and the claim that admit or reject them", async () => {
    for (const [path, as, outcome, code, reason] of [
      ["/", { email: "ada@example.com" }, "forwarded", null, /as ada@example\.com, .*the e-mail address is listed/],
      ["/", { email: "eve@example.com" }, "denied", "login_not_listed", /not on a list/],
      ["/", { email: "eve@x.org", groups: ["acme/ops"] }, "forwarded", null, /a member of the team "acme\/ops"/],
      [
        "/",
        { email: "ada@example.com", email_verified: false },
        "denied",
        "login_email_unverified",
        /has not verified/,
      ],
      ["/domain", { email: "ann@example.com" }, "forwarded", null, /the e-mail domain "example\.com" is listed/],
      ["/domain", { email: "ann@sub.example.com" }, "denied", "login_not_listed", /not on a list/],
      ["/any", { email: "who@ever.example" }, "forwarded", null, /everyone who has logged in/],
    ] as const) {
      const told = await explain(path, as);
      assert.equal(told.error_code, code === null ? null : errorCode(code), JSON.stringify(told.steps));
      assert.equal(told.outcome, outcome, JSON.stringify(told));
      assert.match(reasonOf(told), reason);
    }
    assert.match(reasonOf(await explain("/", null)), /^no session: sent to GitHub/);
  });

  it("an explanation as a person shows what the service would receive, and no secret", async () => {
    const told = await explain("/", {
      email: "ada@example.com",
      provider_user_id: "4711",
      name: "Ädä",
      groups: ["acme/ops"],
    });
    const fields = Object.fromEntries(told.request_headers.map(({ name, value }: ApiBody) => [name, value]));
    assert.deepEqual(
      [fields["ngrok-auth-user-id"], fields["ngrok-auth-user-email"], fields["ngrok-auth-user-name"], fields["x-who"]],
      ["4711", "ada@example.com", "%C3%84d%C3%A4", "ada@example.com allow"],
    );
    assert.equal(fields["postern-auth-groups"], "acme/ops");
    assert.equal(fields["ngrok-auth-oauth-access-token"], undefined);
  });

  it("an explanation as a person uses their existing session, and does not change it", async () => {
    const browser = world.browser();
    assert.equal((await browser.visit(world.origin())).status, 200);
    const list = async (): Promise<ApiBody> =>
      (await world.platform.api("GET", "/app/sessions")).body.application_sessions;
    const [session] = await list();
    const calls = world.providers.calls.length;
    const told = await explain("/", { email: "Ada@Example.com" });
    assert.equal(reasonOf(told), `session ${session.id}: the e-mail address is listed`);
    assert.equal(world.providers.calls.length, calls);
    assert.deepEqual(await list(), [session]);
    await world.platform.api("DELETE", `/app/sessions/${session.id}`);
    assert.match(reasonOf(await explain("/", { email: "ada@example.com" })), /after a login with GitHub/);
  });

  it("an explanation as a person rejects text that is not an e-mail address", async () => {
    const asked = { method: "GET", url: world.origin(), as: { email: "ada" } };
    const answer = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, asked);
    assert.equal(answer.status, 400);
    assert.match(answer.text, /as\.email/);
  });

  it("an explanation as a person is available on the command line", async () => {
    const { apiUrl, apiKey } = world.platform;
    const env = { POSTERN_API_URL: apiUrl, POSTERN_API_KEY: apiKey };
    const args = ["explain", "GET", `${world.origin()}/`, "--as"];
    const denied = await runSharedCommand([...args, "eve@example.com"], { env });
    assert.match(denied.stdout, /not on a list/);
    const admitted = await runSharedCommand([...args, "eve@example.com", "--as-group", "acme/ops"], { env });
    assert.match(admitted.stdout, /a member of the team "acme\/ops"/);
    const alone = await runSharedCommand(["explain", "GET", `${world.origin()}/`, "--as-group", "x"], { env });
    assert.equal(alone.code, 2);
  });
});
