/** Metadata of identity providers for routes: in their configuration, or at an address. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { codeOf } from "../support/login-world.ts";
import type { Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { startMetadataServer } from "../support/metadata-server.ts";
import type { MetadataServer } from "../support/metadata-server.ts";
import { databases } from "../support/postgres.ts";
import { derOf, makeProviderKeys } from "../support/saml-idp.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const html = { accept: "text/html" };

function told(visited: Visited): string {
  return `${visited.status} ${codeOf(visited)}`.trim();
}

function refused(status: number, name: Parameters<typeof errorCode>[0]): string {
  return `${status} ${errorCode(name).replace("ERR_POSTERN_", "")}`;
}

for (const { name, create } of databases) {
  describe(`metadata of a SAML provider, on ${name}`, () => {
    let world: SamlWorld;
    let drop: () => Promise<void>;
    let server: MetadataServer;
    before(async () => {
      const database = await create();
      ({ drop } = database);
      server = await startMetadataServer();
      world = await startSamlWorld({ database: database.url });
    });
    after(async () => {
      await world.stop();
      server.stop();
      await drop();
    });
    const at = (path: string): string => world.origin() + path;
    const ask = (path: string): Promise<Visited> => world.browser().ask(at(path), { headers: html });
    const becomes = async (path: string, expected: string): Promise<void> => {
      const last = await eventually(
        async () => told(await ask(path)),
        (now) => now === expected,
      );
      assert.equal(last, expected);
    };
    const metric = async (what: string): Promise<number> => {
      const { text } = await world.platform.api("GET", "/metrics");
      return Number(new RegExp(`^${what} (\\d+)`, "m").exec(text)?.[1]);
    };
    const reaches = async (what: string, count: number): Promise<void> => {
      const last = await eventually(
        () => metric(what),
        (now) => now === count,
      );
      assert.equal(last, count, what);
    };
    /** Returns the reason, as the operator sees it. */
    const reasonOf = async (visited: Visited): Promise<string> => {
      const id = /request <code>([^<]+)</.exec(visited.text)?.[1];
      return (await world.platform.api("GET", `/requests/${id}`)).text;
    };

    it(`metadata of a SAML provider, on ${name} is used with each of its certificates, and fetched once for a new one`, async () => {
      const { provider } = world;
      const [second, third] = [await makeProviderKeys(), await makeProviderKeys("ec")];
      const known = [provider.keys, second].map(({ certificatePem }) => derOf(certificatePem));
      server.serve(provider.metadata({ certificates: known }), { etag: '"1"' });
      const route = await world.samlRoute("/rolling", { idp_metadata: "", idp_metadata_url: server.url });
      await becomes("/rolling", "302");
      assert.equal(server.asked, 1);
      const signIn = (options: object): Promise<Visited> =>
        provider.signIn(world.browser(), at("/rolling"), route, options);
      assert.equal(told(await signIn({})), "200");
      assert.equal(told(await signIn({ keys: second })), "200");
      assert.equal(told(await signIn({ said: { audience: "https://other.example" } })), refused(403, "saml_assertion"));
      assert.equal(server.asked, 1, "both were known, and what is wrong otherwise is no reason to look");
      server.serve(provider.metadata({ certificates: [...known, derOf(third.certificatePem)] }), { etag: '"2"' });
      assert.equal(told(await signIn({ keys: third, keyType: "ec" })), "200");
      assert.equal(server.asked, 2);
      const stranger = await makeProviderKeys();
      assert.equal(told(await signIn({ keys: stranger })), refused(403, "saml_assertion"));
      assert.equal(told(await signIn({ keys: stranger })), refused(403, "saml_assertion"));
      assert.equal(server.asked, 2, "once a minute, whoever sends what");
      await world.platform.restart();
      server.serve("", {}, 500);
      assert.equal(told(await signIn({ keys: third, keyType: "ec" })), "200", "the last good one is kept");
    });

    it(`metadata of a SAML provider, on ${name} is also fetched from the address of a rule or an agent, and preserved over a restart`, async () => {
      const { provider, platform } = world;
      const [first, second] = [provider.keys, await makeProviderKeys()].map(({ certificatePem }) =>
        derOf(certificatePem),
      );
      const rolled = await makeProviderKeys();
      const addressed = await startMetadataServer();
      addressed.serve(provider.metadata({ certificates: [first as string, second as string] }), { etag: '"1"' });
      const saml = { idp_metadata_url: addressed.url };
      const value = JSON.stringify({ on_http_request: [{ actions: [{ type: "saml", config: saml }] }] });
      const id = await world.route("/ruled", { traffic_policy: { value } });
      const publish = (): Promise<OurAgent> =>
        startOurAgent(
          { port: platform.agentPort, ca: platform.caPem, token: platform.authtoken },
          { upstream: world.upstream.port, url: "https://agent.localhost", tunnel: { options: { SAML: saml } } },
        );
      const agent = await publish();
      const places = [
        [at("/ruled"), await world.ruleUrls(id)],
        [`${agent.url}/x`, await world.hostUrls("agent.localhost")],
      ] as const;
      const signedIn = async (keys: typeof rolled): Promise<string[]> => {
        const answers = [];
        for (const [url, urls] of places)
          answers.push(told(await provider.signIn(world.browser(), url, urls, { keys })));
        return answers;
      };
      try {
        assert.deepEqual(await signedIn(provider.keys), ["200", "200"]);
        assert.equal(addressed.asked, 2, "once for each");
        addressed.serve(provider.metadata({ certificates: [first as string, derOf(rolled.certificatePem)] }));
        assert.deepEqual(await signedIn(rolled), ["200", "200"]);
        assert.equal(addressed.asked, 4);
        const other = refused(403, "saml_assertion");
        assert.deepEqual(await signedIn(await makeProviderKeys()), [other, other]);
        assert.equal(addressed.asked, 4, "once a minute, whoever sends what");
      } finally {
        await agent.close();
      }
      addressed.serve("", {}, 500);
      await platform.restart();
      const again = await publish();
      try {
        assert.deepEqual(await signedIn(rolled), ["200", "200"], "the last good one is kept");
      } finally {
        await again.close();
        addressed.stop();
      }
    });

    it(`metadata of a SAML provider, on ${name} that cannot be renewed is in explanations, and blocks nothing while it is valid`, async () => {
      const { provider } = world;
      const renewed = await startMetadataServer();
      try {
        renewed.serve(provider.metadata());
        const route = await world.samlRoute("/warned", { idp_metadata: "", idp_metadata_url: renewed.url });
        await becomes("/warned", "302");
        const explained = async (): Promise<string> => {
          const asked = { method: "GET", url: at("/warned"), headers: html };
          return (await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, asked)).text;
        };
        assert.doesNotMatch(await explained(), /not renewed/);
        renewed.serve("", {}, 500);
        const unknown = { keys: await makeProviderKeys() };
        await provider.signIn(world.browser(), at("/warned"), route, unknown);
        const last = await eventually(explained, (text) => /not renewed/.test(text));
        assert.match(last, /valid until 20\S+, was not renewed: it answers 500/);
        assert.equal(told(await provider.signIn(world.browser(), at("/warned"), route, {})), "200");
        await world.platform.api("DELETE", `/edges/https/${world.edgeId}/routes/${route.id}`);
      } finally {
        renewed.stop();
      }
    });

    it(`metadata of a SAML provider, on ${name} is never used for another provider, from the same address or beside a document`, async () => {
      const { provider } = world;
      const pinned = await startMetadataServer();
      try {
        pinned.serve(provider.metadata({ entityId: "https://other.example/saml" }));
        const route = await world.samlRoute("/pinned", { idp_metadata_url: pinned.url });
        await reaches("postern_saml_metadata_problems", 1);
        assert.equal(told(await provider.signIn(world.browser(), at("/pinned"), route)), "200", "by the document");
      } finally {
        pinned.stop();
      }
    });

    it(`I4: metadata of a SAML provider, on ${name} that is not readable admits no session of the previous provider`, async () => {
      const { provider } = world;
      const empty = await startMetadataServer();
      try {
        const route = await world.samlRoute("/replaced");
        const one = world.browser();
        assert.equal(told(await provider.signIn(one, at("/replaced"), route)), "200");
        const asked = async (): Promise<string> => told(await one.ask(at("/replaced"), { headers: html }));
        assert.equal(await asked(), "200");
        empty.serve("gone", {}, 500);
        await world.change(route.id, { saml: { idp_metadata: "", idp_metadata_url: empty.url } });
        assert.equal(await eventually(asked, (now) => now !== "200"), refused(500, "saml_metadata"));
        const explained = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, {
          method: "GET",
          url: at("/replaced"),
          headers: { cookie: one.cookies(at("/replaced")) },
        });
        assert.equal(explained.body.error_code, errorCode("saml_metadata"), JSON.stringify(explained.body));
        await world.change(route.id, { saml: { idp_metadata: provider.metadata() } });
        assert.equal(
          await eventually(asked, (now) => now !== refused(500, "saml_metadata")),
          "200",
          "it is good again",
        );
      } finally {
        empty.stop();
      }
    });

    for (const [what, serve, why] of [
      [
        "a document that is not XML",
        () => server.serve("{}", { "content-type": "application/json" }),
        /instead of XML/,
      ],
      ["a redirect", () => server.serve("", { location: "/elsewhere" }, 302), /redirects/],
      ["a compressed document", () => server.serve("x", { "content-encoding": "br" }), /answers compressed/],
      ["a document that is too long", () => server.serve(`<a>${" ".repeat(1_100_000)}</a>`), /too long/],
      [
        "XML with a DOCTYPE",
        () => server.serve('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
        /has a DOCTYPE/,
      ],
    ] as const) {
      it(`metadata of a SAML provider, on ${name} closes a route that has only ${what}`, async () => {
        serve();
        const match = `/${what.replaceAll(" ", "-")}`;
        const route = await world.samlRoute(match, { idp_metadata: "", idp_metadata_url: server.url });
        const last = await eventually(
          async () => {
            const answer = await ask(match);
            return { answer, reason: await reasonOf(answer) };
          },
          ({ reason }) => why.test(reason),
        );
        assert.match(last.reason, why);
        assert.equal(told(last.answer), refused(500, "saml_metadata"));
        assert.equal((await world.browser().ask(route.entity_id)).status, 200, "its own metadata can be had");
      });
    }

    it(`metadata of a SAML provider, on ${name} closes a route if it is not usable, and is a problem of the route until it is replaced`, async () => {
      const { provider } = world;
      for (const [what, text, why] of [
        ["past", provider.metadata({ attributes: ' validUntil="2020-01-01T00:00:00Z"' }), /validUntil has passed/],
        ["bare", provider.metadata({ certificates: [] }), /no certificate/],
      ] as const) {
        const route = await world.samlRoute(`/${what}`, { idp_metadata: text });
        const answer = await ask(`/${what}`);
        assert.equal(told(answer), refused(500, "saml_metadata"));
        assert.match(await reasonOf(answer), why);
        await reaches("postern_configuration_problems", 1);
        await world.change(route.id, { saml: { idp_metadata: provider.metadata() } });
        await becomes(`/${what}`, "302");
        await reaches("postern_configuration_problems", 0);
      }
    });
  });
}
