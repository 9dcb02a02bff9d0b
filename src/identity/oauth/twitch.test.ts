import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { putSession, testLogins } from "../../../test/support/logins.ts";
import { httpsSite, tableOf } from "../../../test/support/routing.ts";
import { modulesWith } from "../../modules/index.ts";
import { defaultsOf } from "../../settings/setting.ts";
import { webhookSettings } from "../../settings/webhooks.ts";
import { unknownIdentity } from "../calls/identity.ts";

describe("tokens of Twitch", () => {
  for (const [interval, expected] of [
    [0, 1],
    [600, 1],
    [86_400, 1],
  ] as const) {
    it(`tokens of Twitch are validated at least hourly with an interval of ${interval} s`, async () => {
      const clock = makeManualClock();
      let checks = 0;
      const identity = { ...unknownIdentity, subject: "1" };
      const logins = testLogins(
        clock,
        {},
        {
          renew: (_connection, tokens) => {
            checks += 1;
            return Promise.resolve({ identity, tokens });
          },
        },
      );
      after(() => logins.close());
      const { table, put } = tableOf(clock, modulesWith(defaultsOf(webhookSettings), { logins }));
      put({ kind: "https_edge", id: "edge", doc: { hostports: ["app.example.com:443"] } });
      const app = { client_id: "c", client_secret: "s", scopes: [], email_addresses: [], email_domains: [] };
      const oauth = {
        options_passthrough: false,
        cookie_prefix: "",
        inactivity_timeout: 0,
        maximum_duration: 0,
        auth_check_interval: interval,
        provider: { twitch: app },
      };
      put({
        kind: "https_edge_route",
        id: "route",
        doc: { edge_id: "edge", match_type: "path_prefix", match: "/", oauth },
      });
      const realm = { siteId: "edge", kind: "oauth", provider: "twitch", clientId: "c", cookiePrefix: "" };
      const scopes = ["openid", "user:read:email"];
      const loginCookies = putSession(logins, clock, realm, {
        scopes,
        identity,
        providerUrl: "https://id.twitch.tv",
        accessToken: "a",
        refreshToken: "r",
      });
      const module = httpsSite(table, "app.example.com")?.findRoute("/", "app.example.com")?.request[0];
      const ask = async (): Promise<unknown> =>
        module?.request?.(exchangeOf({ loginCookies, headers: { accept: "text/html" } }));
      await ask();
      clock.pass(Math.min(interval || 3_600, 3_600) * 1000 - 1_000);
      await ask();
      assert.equal(checks, 0);
      clock.pass(2_000);
      await ask();
      await ask();
      assert.equal(checks, expected);
    });
  }
});
