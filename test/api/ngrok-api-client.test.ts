/**
 * npm `@ngrok/ngrok-api` 0.11.0 against this API: every operation that is offered here. The client has two faults of
 * its own, also with its vendor: a 204 rejects after the server has done the work, and it cannot send the JSON of a
 * `Map`.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Ngrok } from "@ngrok/ngrok-api";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { startCheckingProxy } from "../support/checking-proxy.ts";
import type { CheckingProxy } from "../support/checking-proxy.ts";
import { databases } from "../support/postgres.ts";
import { newSshKeyLine, seedWorld } from "../support/world.ts";

const now = Date.now();

describe("the vendor's TypeScript client", () => {
  let api: TestApi;
  let proxy: CheckingProxy;
  let client: Body;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { seed: seedWorld });
    proxy = await startCheckingProxy(api);
    client = recorded(new Ngrok({ apiToken: api.apiKey, baseUrl: proxy.baseUrl }), "");
  });
  after(async () => {
    await api.stop();
    await proxy.stop();
  });

  /** The client reads the empty body of a 204 as JSON; a refusal would be a plain object. */
  const removed = async (call: Promise<unknown>): Promise<void> => {
    await assert.rejects(call, SyntaxError);
  };
  const backend = async () => client.backends.tunnelGroupBackends.create({ labels: { app: "web" } });
  const policy = async () => client.ipPolicies.create({ description: "p" });
  const authority = createAuthority({ commonName: "Client CA", now });

  const resources: readonly {
    readonly service: () => Body;
    readonly create: () => Promise<Body>;
    readonly change: Body;
  }[] = [
    { service: () => client.apiKeys, create: async () => ({ description: "a" }), change: { metadata: "m" } },
    { service: () => client.botUsers, create: async () => ({ name: "js", active: false }), change: { active: true } },
    { service: () => client.credentials, create: async () => ({ acl: ["bind:*.a.com"] }), change: { acl: ["*"] } },
    { service: () => client.ipPolicies, create: async () => ({ metadata: "a" }), change: { description: "b" } },
    {
      service: () => client.ipPolicyRules,
      create: async () => ({ cidr: "10.0.0.0/8", ipPolicyId: (await policy()).id, action: "deny" }),
      change: { cidr: "10.0.0.0/9" },
    },
    {
      service: () => client.ipRestrictions,
      create: async () => ({ type: "endpoints", ipPolicyIds: [(await policy()).id] }),
      change: { enforced: true },
    },
    { service: () => client.reservedAddrs, create: async () => ({ description: "a" }), change: { description: "b" } },
    {
      service: () => client.reservedDomains,
      create: async () => ({ name: "js.example.com" }),
      change: { description: "b" },
    },
    {
      service: () => client.sshCredentials,
      create: async () => ({ acl: ["bind:app"], publicKey: newSshKeyLine() }),
      change: { description: "b" },
    },
    {
      // The vendor makes the key of an authority. Postern takes the public key of an existing one.
      service: () => client.sshCertificateAuthorities,
      create: async () => ({ description: "a", publicKey: newSshKeyLine() }),
      change: { description: "b" },
    },
    {
      service: () => client.certificateAuthorities,
      create: async () => ({ caPem: (await authority).certificatePem }),
      change: { description: "b" },
    },
    {
      service: () => client.tlsCertificates,
      create: async () => {
        const leaf = await issueLeaf(await authority, { names: ["a.com"], days: 9, now });
        return { certificatePem: leaf.certificatePem, privateKeyPem: leaf.keyPem };
      },
      change: { description: "b" },
    },
    {
      service: () => client.backends.tunnelGroupBackends,
      create: async () => ({ labels: { app: "a" } }),
      change: { labels: { app: "b" } },
    },
    {
      service: () => client.backends.failoverBackends,
      create: async () => ({ backends: [(await backend()).id] }),
      change: { description: "b" },
    },
    {
      service: () => client.backends.weightedBackends,
      create: async () => ({ backends: { [(await backend()).id]: 3 } }),
      change: { description: "b" },
    },
    {
      service: () => client.backends.httpResponseBackends,
      create: async () => ({ body: "hi", statusCode: 404 }),
      change: { body: "ho" },
    },
    {
      service: () => client.backends.staticBackends,
      create: async () => ({ address: "10.0.0.1:80", tls: { enabled: true } }),
      change: { address: "10.0.0.2:80" },
    },
    {
      service: () => client.eventDestinations,
      create: async () => ({ format: "json", target: { webhook: { url: "https://127.0.0.1:1/" } } }),
      change: { description: "b" },
    },
    {
      service: () => client.eventSubscriptions,
      create: async () => ({ sources: [{ type: "ip_policy_created.v0" }], destinationIds: [await destination()] }),
      change: { description: "b" },
    },
    {
      service: () => client.edges.edgesHttps,
      create: async () => ({ hostports: ["js1.example.com:443"], tlsTermination: { minVersion: "1.3" } }),
      change: { description: "b" },
    },
    {
      service: () => client.edges.edgesTls,
      create: async () => ({ hostports: ["js2.example.com:443"], backend: { backendId: (await backend()).id } }),
      change: { description: "b" },
    },
    {
      service: () => client.edges.edgesTcp,
      create: async () => ({ hostports: ["js3.example.com:7000"] }),
      change: { description: "b" },
    },
  ];

  const destination = async (): Promise<string> => {
    const target = { webhook: { url: "https://127.0.0.1:1/" } };
    return (await client.eventDestinations.create({ target })).id;
  };

  it("the vendor's TypeScript client: eventSources: creates, gets, lists, updates and deletes", async () => {
    const made = await client.eventSubscriptions.create({ sources: [], destinationIds: [await destination()] });
    const at = { subscriptionId: made.id, type: "vault_deleted.v0" };
    const source = await client.eventSources.create(at);
    assert.equal(source.type, at.type);
    assert.deepEqual(await client.eventSources.get(at), source);
    assert.deepEqual((await client.eventSources.list(at)).sources, [source]);
    assert.deepEqual(await client.eventSources.update(at), source);
    await removed(client.eventSources.delete(at));
    await assert.rejects(client.eventSources.get(at), (error: Body) => error.statusCode === 404);
  });

  for (const { service, create, change } of resources) {
    const name = /client\.([\w.]+)/.exec(service.toString())?.[1] ?? "";
    it(`the vendor's TypeScript client: ${name}: creates, gets, lists over pages, updates and deletes`, async () => {
      const made = await service().create(await create());
      assert.ok(made.id && made.uri && made.createdAt);
      const read = await service().get(made.id);
      assert.deepEqual({ ...read, token: 0, lastUsedAt: 0 }, { ...made, token: 0, lastUsedAt: 0 });
      const listed = await service().list(undefined, "1");
      assert.ok(listed.some((one: Body) => one.id === made.id));
      const changed = await service().update({ id: made.id, ...change });
      for (const [field, value] of Object.entries(change)) assert.deepEqual(changed[field], value);
      await removed(service().delete(made.id));
      await assert.rejects(service().get(made.id), (error: Body) => {
        assert.deepEqual([error.statusCode, error.errorCode], [404, "ERR_POSTERN_222"]);
        assert.match(error.details.get("operationId"), /^op_/);
        return true;
      });
    });
  }

  it("the vendor's TypeScript client: edgesHttpsRoutes: creates, gets, updates and deletes", async () => {
    const edge = await client.edges.edgesHttps.create({});
    const { edgesHttpsRoutes: routes } = client.edges;
    const made = await routes.create({ edgeId: edge.id, matchType: "path_prefix", match: "/js" });
    assert.deepEqual([made.edgeId, made.match], [edge.id, "/js"]);
    assert.deepEqual(await routes.get({ edgeId: edge.id, id: made.id }), made);
    const changed = await routes.update({ edgeId: edge.id, id: made.id, matchType: "exact_path" });
    assert.deepEqual([changed.matchType, changed.match], ["exact_path", "/js"]);
    await removed(routes.delete({ edgeId: edge.id, id: made.id }));
    await assert.rejects(routes.get({ edgeId: edge.id, id: made.id }));
  });

  const modules: readonly (readonly [
    service: string,
    on: "route" | "https" | "tls" | "tcp",
    module: () => Promise<Body>,
  ])[] = [
    ["edgeRouteBackendModule", "route", async () => ({ backendId: (await backend()).id })],
    ["edgeRouteIpRestrictionModule", "route", async () => ({ ipPolicyIds: [(await policy()).id] })],
    ["edgeRouteRequestHeadersModule", "route", async () => ({ add: { xone: "1" }, remove: ["xtwo"] })],
    ["edgeRouteResponseHeadersModule", "route", async () => ({ add: { xone: "1" }, remove: ["xtwo"] })],
    ["edgeRouteCompressionModule", "route", async () => ({ enabled: true })],
    ["edgeRouteCircuitBreakerModule", "route", async () => ({ errorThresholdPercentage: 0.25 })],
    ["edgeRouteUserAgentFilterModule", "route", async () => ({ deny: ["curl"] })],
    ["edgeRouteWebhookVerificationModule", "route", async () => ({ provider: "github", secret: "s3cret" })],
    [
      "edgeRouteOAuthModule",
      "route",
      async () => ({ provider: { google: { clientId: "id", clientSecret: "secret", scopes: ["email"] } } }),
    ],
    [
      "edgeRouteOidcModule",
      "route",
      async () => ({ issuer: "https://id.example.com", clientId: "id", clientSecret: "secret" }),
    ],
    ["edgeRouteSamlModule", "route", async () => ({ idpMetadataUrl: "https://id.example.com/metadata" })],
    ["edgeRouteWebsocketTcpConverterModule", "route", async () => ({ enabled: true })],
    ["httpsEdgeMutualTlsModule", "https", async () => ({ certificateAuthorityIds: [await uploaded()] })],
    ["httpsEdgeTlsTerminationModule", "https", async () => ({ minVersion: "1.3" })],
    ["tlsEdgeBackendModule", "tls", async () => ({ backendId: (await backend()).id })],
    ["tlsEdgeIpRestrictionModule", "tls", async () => ({ ipPolicyIds: [(await policy()).id] })],
    ["tlsEdgeMutualTlsModule", "tls", async () => ({ certificateAuthorityIds: [await uploaded()] })],
    ["tlsEdgeTlsTerminationModule", "tls", async () => ({ terminateAt: "upstream" })],
    ["tcpEdgeBackendModule", "tcp", async () => ({ backendId: (await backend()).id })],
    ["tcpEdgeIpRestrictionModule", "tcp", async () => ({ ipPolicyIds: [(await policy()).id] })],
  ];
  const uploaded = async (): Promise<string> =>
    (await client.certificateAuthorities.create({ caPem: (await authority).certificatePem })).id;

  for (const [name, on, module] of modules) {
    it(`the vendor's TypeScript client: ${name}: replaces, gets and deletes`, async () => {
      const service = client.edgeModules[name];
      const edges = { route: "edgesHttps", https: "edgesHttps", tls: "edgesTls", tcp: "edgesTcp" }[on];
      const edge = await client.edges[edges].create({});
      const route =
        on === "route" &&
        (await client.edges.edgesHttpsRoutes.create({ edgeId: edge.id, matchType: "path_prefix", match: "/" }));
      const target = route ? { edgeId: edge.id, id: route.id } : { id: edge.id };
      const replaced = await service.replace({ ...target, module: await module() });
      assert.equal(replaced.enabled, true);
      const key = route ? target : edge.id;
      assert.deepEqual(await service.get(key), replaced);
      await removed(service.delete(key));
      await assert.rejects(service.get(key), (error: Body) => error.statusCode === 404);
    });
  }

  it("tunnels, tunnelSessions and endpoints: get, list and commands", async () => {
    api.edge.answer = (message) =>
      message.type === "command" ? { type: "command_result", call: message.call } : undefined;
    const accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
    const shared = {
      accountId,
      credentialId: "cr_1",
      metadata: "",
      region: "local",
      startedAt: "2026-01-01T00:00:00Z",
    };
    const tail = "0".repeat(27);
    const session = { ...shared, id: `ts_${tail}`, agentVersion: "3", ip: "::1", os: "linux", transport: "ngrok/2" };
    api.edge.send({ type: "session_opened", session });
    const endpoint = { id: `ep_${tail}`, proto: "https", publicUrl: "https://js.postern.test" } as const;
    const tunnel = { ...shared, id: `tn_${tail}`, sessionId: session.id, forwardsTo: "x:80", endpoint };
    api.edge.send({ type: "tunnel_opened", tunnel });
    assert.equal((await client.tunnels.list())[0].id, tunnel.id);
    assert.equal((await client.tunnels.get(tunnel.id)).tunnelSession.id, session.id);
    assert.equal((await client.tunnelSessions.list())[0].agentVersion, "3");
    assert.equal((await client.tunnelSessions.get(session.id)).transport, "ngrok/2");
    assert.equal((await client.endpoints.list())[0].publicUrl, endpoint.publicUrl);
    assert.equal((await client.endpoints.get(endpoint.id)).hostport, "js.postern.test:443");
    for (const call of ["restart", "stop"]) await removed(client.tunnelSessions[call](session.id));
    await removed(client.tunnelSessions.update({ id: session.id }));
    const commands = api.edge.received.flatMap((one) => (one.type === "command" ? [one.command.name] : []));
    assert.deepEqual(commands, ["restart", "stop", "update"]);
  });

  for (const name of ["applicationUsers", "applicationSessions"]) {
    it(`the vendor's TypeScript client: ${name}: lists, gets and deletes`, async () => {
      const [one] = await client[name].list();
      assert.deepEqual(await client[name].get(one.id), one);
      await removed(client[name].delete(one.id));
      await assert.rejects(client[name].get(one.id), (error: Body) => error.statusCode === 404);
    });
  }

  it("the vendor's TypeScript client: reservedDomains: unsets certificate and policy", async () => {
    const made = await client.reservedDomains.create({
      name: "policy.example.com",
      certificateManagementPolicy: { authority: "letsencrypt", privateKeyType: "rsa" },
    });
    assert.equal(made.certificateManagementPolicy.privateKeyType, "rsa");
    await removed(client.reservedDomains.deleteCertificateManagementPolicy(made.id));
    await removed(client.reservedDomains.deleteCertificate(made.id));
    const read = await client.reservedDomains.get(made.id);
    assert.deepEqual([read.certificateManagementPolicy, read.certificate], [null, null]);
  });

  it("the vendor's TypeScript client reports invalid input by field", async () => {
    await assert.rejects(client.ipPolicies.create({ description: "x".repeat(256) }), (error: Body) => {
      assert.deepEqual([error.statusCode, error.errorCode], [400, "ERR_POSTERN_215"]);
      assert.match(error.details.get("description"), /255 bytes/);
      return true;
    });
  });

  const notOffered: readonly string[] = [
    "abuseReports",
    "agentIngresses",
    "sshHostCertificates",
    "sshUserCertificates",
  ];

  for (const name of notOffered) {
    it(`the vendor's TypeScript client: ${name}: reports that the path does not exist`, async () => {
      await assert.rejects(client[name].get("x_1"), (error: Body) => error.errorCode === "ERR_POSTERN_223");
    });
  }

  it("every operation of the vendor's TypeScript client has been run by these tests", () => {
    const all = [...operationsOf(client, "")].filter((name) => !notOffered.includes(name.split(".")[0] as string));
    assert.ok(all.length > 150, String(all.length));
    assert.deepEqual(
      all.filter((name) => !called.has(name)),
      [],
    );
  });
});

/** Names of the operations that were called. */
const called = new Set<string>();

/** The client, with a record of its calls. */
function recorded(part: Body, path: string): Body {
  return new Proxy(part, {
    get(target, name: string) {
      const value = target[name];
      if (typeof value === "function") {
        return (...args: Body[]) => {
          called.add(`${path}${name}`);
          return value.apply(target, args);
        };
      }
      return typeof value === "object" && value !== null ? recorded(value, `${path}${name}.`) : value;
    },
  });
}

function* operationsOf(part: Body, path: string): Generator<string> {
  const own = Object.getPrototypeOf(part);
  for (const name of own === Object.prototype ? [] : Object.getOwnPropertyNames(own)) {
    if (path !== "" && !/^(constructor$|_)/.test(name)) yield `${path}${name}`;
  }
  for (const [name, value] of Object.entries(part)) {
    if (name !== "httpClient" && typeof value === "object" && value !== null)
      yield* operationsOf(value, `${path}${name}.`);
  }
}
