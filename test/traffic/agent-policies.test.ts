/** Traffic policies that agents bring along: with a tunnel, changed while it is open, and by the public SDK. */
import assert from "node:assert/strict";
import { connect } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { after, before, describe, it } from "node:test";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, portIs, visit } from "../support/connections.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { startSdk } from "../support/sdk-process.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";

let fixture: EdgeWithAgent;
let service: TcpService;
let bare: TestAgent;
let port: number;

before(async () => {
  port = await freePort();
  fixture = await startEdgeWithAgent({ tcpBind: "127.0.0.1", tcpPorts: { first: port, last: port } });
  service = await startTcpService((socket) =>
    socket.on("data", (bytes: Buffer) => socket.end(`got ${bytes.toString()}`)),
  );
  bare = await connectAgent(fixture.edge, fixture.token, service.port, false);
});
after(async () => {
  bare.close();
  await service.stop();
  await fixture.stop();
});

const answers = (status_code: number) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type: "custom-response", config: { status_code } }] }] });
const connects = (type: string) => JSON.stringify({ on_tcp_connect: [{ actions: [{ type }] }] });

/** The response that a TLS client gets from an endpoint that terminates TLS; "" if the connection is closed. */
async function say(servername: string, own: ConnectionOptions = {}): Promise<string> {
  const ca = fixture.edge.authority.certificatePem;
  const socket = connect({ host: "127.0.0.1", port: fixture.edge.edge.https.port, servername, ca, ...own });
  socket.on("error", () => {});
  socket.on("secureConnect", () => socket.write("hello"));
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
  await new Promise((closed) => socket.on("close", closed));
  return text;
}

for (const protocol of protocols) {
  describe(`a policy of an agent over ${protocol}`, { timeout: 60_000 }, () => {
    it(`a policy of an agent over ${protocol} drops connections of an HTTPS endpoint by its rules about connections`, async () => {
      const hostname = `dropped-${protocol}.apps.example.com`;
      const restrict = (deny: string): string =>
        JSON.stringify({
          on_tcp_connect: [
            { actions: [{ type: "terminate-tls", config: { min_version: "1.2" } }] },
            { actions: [{ type: "restrict-ips", config: { allow: ["0.0.0.0/0", "::/0"], deny: [deny] } }] },
          ],
          on_http_request: [{ actions: [{ type: "custom-response", config: { status_code: 418 } }] }],
        });
      await fixture.agent.bind({ hostname, trafficPolicy: restrict("127.0.0.0/8") });
      await assert.rejects(fixture.ask(protocol, { host: hostname }));
      const admitted = `admitted-${protocol}.apps.example.com`;
      await fixture.agent.bind({ hostname: admitted, trafficPolicy: restrict("192.0.2.0/24") });
      assert.equal((await fixture.ask(protocol, { host: admitted })).status, 418);
    });

    it(`a policy of an agent over ${protocol} acts from the first request on, and is replaced while its tunnel is open`, async () => {
      const hostname = "live.apps.example.com";
      const { id } = await fixture.agent.bind({ hostname, trafficPolicy: answers(418) });
      const status = async (): Promise<number> => (await fixture.ask(protocol, { host: hostname })).status;
      assert.equal(await status(), 418);
      await fixture.agent.session.changePolicy(id, answers(420));
      assert.equal(await status(), 420);
      await assert.rejects(fixture.agent.session.changePolicy(id, "on_http_respons: []"), {
        reason: "agent_policy_invalid",
        message: /did you mean "on_http_response"/,
      });
      assert.equal(await status(), 420);
      await fixture.agent.session.changePolicy(id, "");
      assert.equal(await status(), 200);
      await fixture.agent.session.unbind(id);
      await assert.rejects(fixture.agent.session.changePolicy(id, answers(418)), { reason: "agent_request_invalid" });
    });

    it(`a policy of an agent over ${protocol} is changed by the session that has its tunnel, and by no other`, async () => {
      const hostname = "mine.apps.example.com";
      const { id } = await fixture.agent.bind({ hostname, trafficPolicy: answers(418) });
      await assert.rejects(bare.session.changePolicy(id, answers(420)), { reason: "agent_request_invalid" });
      assert.equal((await fixture.ask(protocol, { host: hostname })).status, 418);
      await fixture.agent.session.unbind(id);
    });

    it(`a policy of an agent over ${protocol} is sent by our own agent, with its other options`, async () => {
      const { edge, token, servicePort } = fixture;
      const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token };
      const url = "https://ours.apps.example.com";
      const ours = (trafficPolicy: string, pooling = true) =>
        startOurAgent(at, { upstream: servicePort, url, tunnel: { trafficPolicy, pooling } });
      const one = await ours(answers(418));
      const two = await ours(answers(418));
      assert.equal((await fixture.ask(protocol, { host: "ours.apps.example.com" })).status, 418);
      await one.close();
      await two.close();
      const refused = await startOurAgent(at, {
        upstream: servicePort,
        url,
        offline: true,
        tunnel: { trafficPolicy: "on_request: []" },
      });
      assert.match((await refused.ended).message, /did you mean|is not a phase here/);
    });

    it(`I2: a login behind forward-internal over ${protocol} is refused with its own message`, async () => {
      const { edge } = fixture;
      const oidc = {
        enabled: true,
        issuer: "https://op.example.com",
        client_id: "c",
        client_secret: "s",
        scopes: [],
        cookie_prefix: "",
      };
      const times = { inactivity_timeout: 0, maximum_duration: 0, options_passthrough: false };
      edge.put({ kind: "https_edge", id: "edghts_in", doc: { hostports: ["login.internal#ac_1:443"] } });
      const route = { edge_id: "edghts_in", match_type: "path_prefix", match: "/", oidc: { ...oidc, ...times } };
      edge.put({ kind: "https_edge_route", id: "edghtsrt_in", doc: route });
      const value = JSON.stringify({
        on_http_request: [{ actions: [{ type: "forward-internal", config: { url: "https://login.internal" } }] }],
      });
      fixture.route({ traffic_policy: { enabled: true, value } });
      const { status, headers } = await fixture.ask(protocol);
      assert.deepEqual([status, headers["ngrok-error-code"]], [500, errorCode("login_internal")]);
      assert.equal(headers["location"], undefined);
      fixture.route({});
    });

    it(`an internal endpoint of an agent over ${protocol} requires no login, and is refused with the reason`, async () => {
      const oauth = { OAuth: { provider: "google", client_id: "id", client_secret: "secret" } };
      await assert.rejects(fixture.agent.bind({ hostname: "sso.internal", options: oauth }), {
        reason: "agent_option_unsupported",
        message: /configure the login at the public endpoint/,
      });
    });
  });
}

describe("a policy of an agent on whole connections", { timeout: 60_000 }, () => {
  it("a policy of an agent on whole connections is replaced while its tunnel is open, for TLS and for TCP", async () => {
    const tls = await bare.bind({
      proto: "tls",
      hostname: "tls.apps.example.com",
      trafficPolicy: connects("terminate-tls"),
    });
    assert.equal(await say("tls.apps.example.com"), "got hello");
    await bare.session.changePolicy(tls.id, connects("deny"));
    assert.equal(await say("tls.apps.example.com"), "");
    await assert.rejects(bare.session.changePolicy(tls.id, connects("redirect")), { reason: "agent_policy_invalid" });
    await bare.session.unbind(tls.id);
    const tcp = await bare.bind({ proto: "tcp", trafficPolicy: connects("deny") });
    await portIs("open", port);
    assert.equal((await visit(port, "hello")).text, "");
    await bare.session.changePolicy(tcp.id, "");
    assert.equal((await visit(port, "hello")).text, "got hello");
    await bare.session.unbind(tcp.id);
    await portIs("closed", port);
  });

  it("a policy of an agent is refused if it arrives in both forms, or has the wrong protocol", async () => {
    const both = { Policy: { inbound: [] }, TrafficPolicy: answers(418) };
    const refusal = { reason: "agent_policies_both" };
    await assert.rejects(fixture.agent.bind({ options: both }), refusal);
    await assert.rejects(bare.bind({ proto: "tcp", trafficPolicy: answers(418) }), { reason: "agent_policy_invalid" });
    assert.match(errorCode("agent_policy_invalid"), /9026$/);
  });
});

it(
  "a policy of the public SDK acts on HTTP, TLS and TCP, and endpoints that it pools share a URL",
  { timeout: 60_000 },
  async () => {
    const sdk = await startSdk();
    const { edge, token, servicePort: target } = fixture;
    try {
      await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca: edge.authority.certificatePem, token });
      const domain = "sdk.apps.example.com";
      for (const status of [418, 420]) {
        await sdk.ask({ name: "http", domain, target, trafficPolicy: answers(status), pooling: true });
      }
      for (const protocol of protocols) {
        assert.ok([418, 420].includes((await fixture.ask(protocol, { host: domain })).status));
      }
      await sdk.ask({
        name: "tls",
        domain: "sdktls.apps.example.com",
        target: service.port,
        trafficPolicy: connects("deny"),
      });
      assert.equal(await say("sdktls.apps.example.com"), "");
      await assert.rejects(sdk.ask({ name: "tcp", trafficPolicy: answers(418) }), /9026|on_tcp_connect/);
      await sdk.ask({ name: "tcp", trafficPolicy: connects("deny") });
      assert.equal((await visit(port, "hello")).text, "");
    } finally {
      await sdk.stop();
    }
  },
);

describe("objects in an agent's policy", { timeout: 60_000 }, () => {
  const restricts = (id: string) =>
    JSON.stringify({ on_http_request: [{ actions: [{ type: "restrict-ips", config: { ip_policies: [id] } }] }] });
  const rule = (id: string, action: string) =>
    fixture.put("ip_policy_rule", `ipr_${id}`, { ip_policy_id: id, cidr: "127.0.0.0/8", action });

  for (const protocol of protocols) {
    it(`objects in an agent's policy over ${protocol} include the account's IP policies: their changes apply, and without them the endpoint closes`, async () => {
      const id = `ipp_${protocol}`;
      const hostname = `named-${protocol}.apps.example.com`;
      await assert.rejects(fixture.agent.bind({ hostname, trafficPolicy: restricts(id) }), {
        reason: "agent_policy_invalid",
        message: /"ipp_h\d": it does not exist/,
      });
      fixture.put("ip_policy", id, {});
      rule(id, "allow");
      const bound = await fixture.agent.bind({ hostname, trafficPolicy: restricts(id) });
      const status = async (): Promise<number> => (await fixture.ask(protocol, { host: hostname })).status;
      assert.equal(await status(), 200);
      rule(id, "deny");
      assert.equal(await status(), 403);
      rule(id, "allow");
      assert.equal(await status(), 200);
      fixture.edge.remove("ip_policy_rule", `ipr_${id}`);
      assert.equal(await status(), 403);
      fixture.edge.remove("ip_policy", id);
      assert.equal(await status(), 404);
      await assert.rejects(fixture.agent.session.changePolicy(bound.id, ""), { reason: "agent_request_invalid" });
    });
  }

  it("P1: objects in an agent's policy must belong to its account and have the right kind", async () => {
    fixture.edge.put({ kind: "ip_policy", id: "ipp_theirs", account_id: "ac_2", doc: {} });
    await assert.rejects(
      fixture.agent.bind({ hostname: "p1.apps.example.com", trafficPolicy: restricts("ipp_theirs") }),
      {
        reason: "agent_policy_invalid",
        message: /"ipp_theirs": it does not exist/,
      },
    );
  });

  it("objects in an agent's policy include the account's authorities for client certificates, by id", async () => {
    const clients = await createAuthority({ commonName: "Clients", now: Date.now() });
    const trafficPolicy = JSON.stringify({
      on_tcp_connect: [
        { actions: [{ type: "terminate-tls", config: { mutual_tls_certificate_authorities: ["ca_agents"] } }] },
      ],
    });
    const asked = { proto: "tls", hostname: "mutual.apps.example.com", trafficPolicy } as const;
    await assert.rejects(bare.bind(asked), {
      reason: "agent_policy_invalid",
      message: /"ca_agents": it does not exist/,
    });
    fixture.put("certificate_authority", "ca_agents", { ca_pem: clients.certificatePem });
    await bare.bind(asked);
    assert.equal(await say(asked.hostname), "", "without a certificate nothing is heard");
    const visitor = await issueLeaf(clients, { names: ["alice"], now: Date.now(), days: 1, usages: ["clientAuth"] });
    assert.equal(await say(asked.hostname, { cert: visitor.certificatePem, key: visitor.keyPem }), "got hello");
  });
});

describe("a login for an agent's endpoint", () => {
  /** Each way in which an agent names a provider, and how it is refused. */
  const ways = [
    [
      "agent_policy_invalid",
      (url: string) => {
        const config = { issuer_url: url, client_id: "c", client_secret: "s" };
        const on_http_request = [{ actions: [{ type: "openid-connect", config }] }];
        return { trafficPolicy: JSON.stringify({ on_http_request }) };
      },
    ],
    [
      "agent_policy_invalid",
      (url: string) => {
        const on_http_request = [{ actions: [{ type: "saml", config: { idp_metadata_url: url } }] }];
        return { trafficPolicy: JSON.stringify({ on_http_request }) };
      },
    ],
    [
      "agent_request_invalid",
      (issuer_url: string) => ({ options: { OIDC: { issuer_url, client_id: "c", client_secret: "s" } } }),
    ],
    ["agent_request_invalid", (idp_metadata_url: string) => ({ options: { SAML: { idp_metadata_url } } })],
  ] as const;

  it("I7: a login for an agent's endpoint is refused with its tunnel if the provider is local or has no TLS", async () => {
    for (const [reason, asking] of ways) {
      for (const url of [
        "http://localhost",
        "http://id.example",
        "http://127.0.0.1:8080/x",
        "https://127.0.0.1",
        "https://10.1.2.3/x",
        "https://[::1]:8443",
        "https://169.254.169.254",
        "https://0x7f000001",
      ]) {
        const bound = fixture.agent.bind({ hostname: "login.apps.example.com", ...asking(url) });
        await assert.rejects(bound, { reason, message: /--allow-local-upstreams/ }, `${reason} ${url}`);
      }
      const { id } = await fixture.agent.bind({ hostname: "login.apps.example.com", ...asking("https://id.example") });
      await fixture.agent.session.unbind(id);
    }
  });

  it("I7: a login for an agent's endpoint is also refused in a change of its policy, which then stays as it was", async () => {
    const hostname = "login.apps.example.com";
    const { id } = await fixture.agent.bind({ hostname, trafficPolicy: answers(418) });
    const { trafficPolicy } = ways[0][1]("http://127.0.0.1");
    const changed = fixture.agent.session.changePolicy(id, trafficPolicy);
    await assert.rejects(changed, { reason: "agent_policy_invalid", message: /--allow-local-upstreams/ });
    assert.equal((await fixture.ask("h1", { host: hostname })).status, 418);
    await fixture.agent.session.unbind(id);
  });
});
