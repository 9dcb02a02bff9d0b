/** Single-use items at several servers with one database: responses, tickets, states, logout tokens. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { openBrowser } from "../support/browser.ts";
import type { Browser, Visited, VisitOptions } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf } from "../support/login-world.ts";
import { sealingKey } from "../support/nodes.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const skip = skipWithoutPostgres;
const html = { accept: "text/html" };
const isCallback = (url: string): boolean => url.includes("/.postern/callback?");
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

let world: SamlWorld;
let issuer: OwnIssuer;
let nodes: readonly TestPlatform[] = [];
let drop: () => Promise<void>;
let route: Awaited<ReturnType<SamlWorld["samlRoute"]>>;

before(async () => {
  if (!postgres) return;
  const database = await postgres.create();
  ({ drop } = database);
  const shared = {
    database: database.url,
    cluster: true,
    sealingKey,
    allowLocalUpstreams: true,
    peerListen: { host: "127.0.0.1", port: 0 },
  };
  [world, issuer] = await Promise.all([startSamlWorld(shared), startOwnIssuer()]);
  route = await world.samlRoute("/saml", { allow_idp_initiated: true });
  await world.route("/oidc", { oidc: { issuer: issuer.url, client_id: "c", client_secret: "secret" } });
  nodes = [world.platform, await startPlatform(shared)];
  // Wait until the other node has the routes and the keys of flows.
  await eventually(
    () => ask(1, `${world.origin()}/saml`),
    ({ status }) => status === 302,
  );
});
after(async () => {
  if (!postgres) return;
  await nodes[1]?.stop();
  await world.stop();
  await issuer.stop();
  await drop();
});

/** Sends one request to a node, whatever port the URL names. */
async function ask(node: number, url: string, options: VisitOptions = {}): Promise<Visited> {
  const { caPem, httpsPort } = nodes[node] as TestPlatform;
  const there = new URL(url);
  there.port = String(httpsPort);
  return await openBrowser({ ca: caPem }).ask(there.href, { ...options, headers: { ...html, ...options.headers } });
}

function told({ status, headers, ...visited }: Visited): string {
  const session = (headers["set-cookie"] ?? []).some((one) => one.includes("session.") && !one.includes("Max-Age=0"));
  return `${status} ${codeOf({ status, headers, ...visited })}`.trim() + (session ? " session" : "");
}

/** First to one node and then to each again, or to both simultaneously. */
const orders: readonly (readonly (readonly number[])[])[] = [[[0], [1], [0]], [[1], [0], [1]], [[0, 1, 0, 1]]];

/** Returns the responses to all but the first. In each order, exactly one request succeeds. */
async function refusalsOf(
  make: () => Promise<(node: number) => Promise<Visited>>,
  taken: string,
  some = orders,
): Promise<string[]> {
  const refusals: string[] = [];
  for (const order of some) {
    const send = await make();
    const outcomes: string[] = [];
    for (const together of order) outcomes.push(...(await Promise.all(together.map(send))).map(told));
    const others = outcomes.filter((one) => one !== taken);
    assert.equal(others.length, outcomes.length - 1, outcomes.join(", "));
    refusals.push(...others);
  }
  return [...new Set(refusals)].toSorted();
}

/** Returns a provider's response for a visitor, as a form. */
async function answered(browser: Browser): Promise<string> {
  const page = await browser.visit(`${world.origin()}/saml`, { stop: isAtIdp });
  return world.provider.answer(world.provider.read(page, route), route);
}

const acs = (body: string) => (node: number) =>
  ask(node, route.assertion_consumer_service_url, { method: "POST", body });

it("I4: a response of a SAML provider is accepted once across all nodes", { skip }, async () => {
  const make = async () => acs(await answered(world.browser()));
  assert.deepEqual(await refusalsOf(make, "303"), ["403 5305"]);
});

it(
  "I4: an unsolicited response of a SAML provider is accepted once across all nodes, and so is its ticket",
  { skip },
  async () => {
    const body = (): string => world.provider.answer(undefined, route, { relayState: "https://app.localhost/saml" });
    assert.deepEqual(await refusalsOf(async () => await Promise.resolve(acs(body())), "303"), ["403 5305"]);
    const make = async () => {
      const { headers } = await acs(body())(0);
      return (node: number) => ask(node, String(headers.location));
    };
    assert.deepEqual(await refusalsOf(make, "303 session"), ["400 3123"]);
  },
);

for (const kind of ["saml", "oidc"] as const) {
  it(
    `I2: a login in progress (${kind}) ends in one session across all nodes, even if its cookie is sent again`,
    { skip },
    async () => {
      const make = async () => {
        const browser = world.browser();
        const url = `${world.origin()}/${kind}`;
        const sent =
          kind === "saml"
            ? await browser.visit(route.assertion_consumer_service_url, {
                method: "POST",
                body: await answered(browser),
                stop: isCallback,
              })
            : await browser.visit(url, { stop: isCallback });
        const headers = { cookie: browser.cookies(url) };
        return (node: number) => ask(node, String(sent.headers.location), { headers });
      };
      if (kind === "saml") assert.deepEqual(await refusalsOf(make, "303 session"), ["400 3123"]);
      // The provider accepts a code once, and only from the redirect URI of the request, which has the first node's
      // port.
      else assert.deepEqual(await refusalsOf(make, "303 session", orders.slice(0, 1)), ["400 3123", "502 3163"]);
    },
  );
}

it("I1: a logout token of an issuer is accepted once across all nodes", { skip }, async () => {
  const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id;
  const url = `${world.origin("idp.localhost")}/oidc/${issuerTag(account, issuer.url)}/backchannel-logout`;
  const make = async () => {
    const now = Math.floor(Date.now() / 1000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const claims = { iss: issuer.url, aud: "c", sub: "ada", iat: now, exp: now + 60, jti: randomUUID(), events };
    const body = `logout_token=${issuer.sign(claims, { typ: "logout+jwt" })}`;
    return await Promise.resolve((node: number) => ask(node, url, { method: "POST", body }));
  };
  assert.deepEqual(await refusalsOf(make, "200"), ["400"]);
});

it("I4: a logout request of a SAML provider is accepted once across all nodes", { skip }, async () => {
  const url = route.single_logout_url;
  const make = async () => {
    const now = new Date().toISOString();
    const names = `xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"`;
    const head = `ID="_${randomUUID()}" Version="2.0" IssueInstant="${now}" Destination="${url}"`;
    const name = `<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">ada</saml:NameID>`;
    const xml = `<samlp:LogoutRequest ${names} ${head}><saml:Issuer>${world.provider.entityId}</saml:Issuer>${name}</samlp:LogoutRequest>`;
    const sent = world.provider.redirectTo(url, "SAMLRequest", xml);
    return await Promise.resolve((node: number) => ask(node, sent));
  };
  assert.deepEqual(await refusalsOf(make, "303"), ["400 5308"]);
});
