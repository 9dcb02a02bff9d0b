/** The host to which logins return. Wherever the operator puts it, no one else can use it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { startPlatform } from "../support/platform.ts";
import { startSdk } from "../support/sdk-process.ts";

for (const idpHost of [undefined, "sso.example.localhost"]) {
  const host = idpHost ?? "idp.localhost";
  describe(`the login host, ${host}`, { timeout: 60_000 }, () => {
    let world: LoginWorld;
    before(async () => {
      world = await startLoginWorld({ idpHost });
      await world.route("/", { oauth: { provider: { github: {} } } });
      world.providers.person = { id: "1", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
    });
    after(() => world.stop());

    for (const http of ["h1", "h2"] as const) {
      it(`the login host, ${host}, is the host to which visitors return over ${http}`, async () => {
        const browser = world.browser(http);
        assert.equal((await browser.visit(`${world.origin()}/x`)).status, 200);
        const asked = browser.asked.find((url) => url.includes("/login/oauth/authorize?")) ?? "";
        assert.equal(new URL(asked).searchParams.get("redirect_uri"), `${world.origin(host)}/oauth2/callback`);
        assert.ok(browser.asked.some((url) => url.startsWith(`${world.origin(host)}/oauth2/callback?`)));
      });
    }

    it(`the login host, ${host}, is shown to operators at every callback that they must register`, async () => {
      const callback = `${world.origin(host)}/oauth2/callback`;
      const { api } = world.platform;
      const asked = { method: "GET", url: `${world.origin()}/`, headers: { accept: "text/html" } };
      const explained = await api("POST", `/edges/https/${world.edgeId}/explain`, asked);
      assert.ok(explained.text.includes(`then back to ${callback}`), explained.text);
      for (const refuse of [
        () => void (world.providers.declines = "redirect_uri_mismatch"),
        () => void (world.providers.failure = { status: 200, body: '{"error":"redirect_uri_mismatch"}' }),
      ]) {
        refuse();
        const refused = await world.browser().visit(`${world.origin()}/`);
        [world.providers.declines, world.providers.failure] = [undefined, undefined];
        assert.equal(refused.headers["postern-error-code"], errorCode("login_redirect_refused"));
        assert.ok(!refused.text.includes("/oauth2/callback"));
        const id = /request <code>(\w+)<\/code>/.exec(refused.text)?.[1];
        const trace = await api("GET", `/requests/${id}`);
        assert.ok(trace.text.includes(`register ${callback}`), trace.text);
      }
      const bare = await startPlatform({ idpHost });
      try {
        const edge = (await bare.api("POST", "/edges/https", { hostports: ["a.localhost:443"] })).body;
        const route = { match_type: "path_prefix", match: "/", oauth: { provider: { github: {} } } };
        await bare.api("POST", `/edges/https/${edge.id}/routes`, route);
        const explanation = await bare.api("POST", `/edges/https/${edge.id}/explain`, {
          method: "GET",
          url: `https://a.localhost:${bare.httpsPort}/`,
        });
        const registered = `register one there with the callback https://${host}:${bare.httpsPort}/oauth2/callback`;
        assert.ok(explanation.text.includes(registered), explanation.text);
      } finally {
        await bare.stop();
      }
    });

    it(`the login host, ${host}, cannot belong to an edge, wildcard, account, address, cloud endpoint or agent`, async () => {
      const parent = host.slice(host.indexOf(".") + 1);
      const other = (await world.platform.api("POST", "/accounts", { name: "another" })).body.api_key as string;
      const traffic_policy = "on_http_request: [{ actions: [{ type: deny }] }]";
      for (const key of [undefined, other]) {
        for (const name of [host, `a.${host}`, `*.${host}`, `*.${parent}`]) {
          for (const [path, body] of [
            ["/edges/https", { hostports: [`${name}:443`] }],
            ["/edges/tls", { hostports: [`${name}:443`] }],
            ["/reserved_domains", { domain: name }],
          ] as const) {
            const refused = await world.platform.api("POST", path, body, key);
            assert.equal(refused.body.error_code, errorCode("domain_held"), `${path} ${name}: ${refused.text}`);
          }
          if (name.startsWith("*.")) continue;
          const cloud = { type: "cloud", url: `https://${name}`, traffic_policy };
          const refused = await world.platform.api("POST", "/endpoints", cloud, key);
          assert.equal(refused.body.error_code, errorCode("domain_held"), refused.text);
        }
      }
      const sdk = await startSdk();
      try {
        const { platform } = world;
        await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
        const bound = sdk.ask({ name: "http", domain: host });
        await assert.rejects(bound, /the server uses it/);
      } finally {
        await sdk.stop();
      }
      const browser = world.browser();
      assert.equal((await browser.visit(`${world.origin()}/y`)).status, 200);
    });

    it(`the login host, ${host}, presents the first account's certificate for it, and no other account's`, async () => {
      const shown = async (): Promise<string> => {
        const socket = connect({
          host: "127.0.0.1",
          port: world.platform.httpsPort,
          servername: host,
          rejectUnauthorized: false,
        });
        await once(socket, "secureConnect");
        const { serialNumber } = socket.getPeerCertificate();
        socket.destroy();
        return serialNumber.toLowerCase();
      };
      const upload = async (key?: string): Promise<string> => {
        const pair = await createSelfSigned({ names: [host], days: 30, now: Date.now() });
        const made = await world.platform.api(
          "POST",
          "/tls_certificates",
          { certificate_pem: pair.certificatePem, private_key_pem: pair.keyPem },
          key,
        );
        assert.equal(made.status, 201, made.text);
        return made.body.serial_number;
      };
      const other = (await world.platform.api("POST", "/accounts", { name: "a third" })).body.api_key as string;
      const theirs = await upload(other);
      assert.notEqual(await shown(), theirs);
      const own = await upload();
      assert.equal(await shown(), own);
    });
  });
}

describe("a start with a login host", () => {
  it("a start with a login host that is the domain or above it fails, because no name would remain", async () => {
    for (const idpHost of ["t.example.com", "example.com"]) {
      await assert.rejects(
        startPlatform({ domain: "t.example.com", idpHost }),
        /must not be the domain "t\.example\.com"/,
      );
    }
  });
});
