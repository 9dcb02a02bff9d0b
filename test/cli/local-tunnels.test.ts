/** Tunnels of a running agent, through its local API and `postern agent`. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { catalogue, errorCode } from "../../src/lib/errors.ts";
import { startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useInspectedAgent } from "../support/inspected-agent.ts";

describe("tunnels through the local API of an agent", { timeout: 120_000 }, () => {
  const inspected = useInspectedAgent();
  const { call, start } = inspected;

  it("the local API returns the tunnel with its URL, in the form that scripts expect", async () => {
    const { body } = await call("GET", "/api/tunnels");
    const [{ metrics, ...tunnel }] = body.tunnels;
    assert.deepEqual(tunnel, {
      name: "command_line",
      uri: "/api/tunnels/command_line",
      public_url: inspected.url,
      proto: "https",
      config: { addr: `http://localhost:${inspected.service.port}`, inspect: true },
    });
    assert.deepEqual(Object.keys(metrics.conns), [
      "count",
      "gauge",
      "rate1",
      "rate5",
      "rate15",
      "p50",
      "p90",
      "p95",
      "p99",
    ]);
    assert.deepEqual((await call("GET", tunnel.uri)).body.public_url, inspected.url);
    assert.equal((await call("GET", "/api/endpoints")).body.endpoints[0].url, inspected.url);
    assert.equal((await call("GET", "/api/status")).body.status, "online");
    assert.equal((await call("GET", "/api/tunnels/other")).status, 404);
  });

  it("a tunnel is started and stopped through the local API, and returns after its session was lost", async () => {
    const asked = { name: "late", addr: String(inspected.service.port), proto: "http", url: "https://late.localhost" };
    const { status, body: started } = await call("POST", "/api/tunnels", asked);
    assert.deepEqual(
      [status, started.name, started.uri, started.public_url, started.proto, started.config],
      [
        201,
        "late",
        "/api/tunnels/late",
        `https://late.localhost:${inspected.platform.httpsPort}`,
        "https",
        { addr: `http://localhost:${inspected.service.port}`, inspect: true },
      ],
    );
    assert.deepEqual(Object.keys(started.metrics), ["conns", "http"]);
    assert.equal((await inspected.platform.request(`${started.public_url}/x`)).status, 200);
    const again = await call("POST", "/api/tunnels", asked);
    assert.equal(again.status, 400);
    assert.deepEqual(again.body, {
      error_code: 102,
      status_code: 400,
      msg: "invalid tunnel configuration",
      details: {
        err: 'tunnel "late" already exists',
        code: errorCode("local_tunnel_invalid"),
        fix: catalogue.local_tunnel_invalid.fix,
      },
    });
    const { body: sessions } = await inspected.platform.api("GET", "/tunnel_sessions");
    for (const { id } of sessions.tunnel_sessions)
      await inspected.platform.api("POST", `/tunnel_sessions/${id}/restart`);
    const list = async () =>
      (await inspected.platform.api("GET", "/tunnel_sessions")).body.tunnel_sessions.map(
        ({ id }: { id: string }) => id,
      );
    const former = sessions.tunnel_sessions.map(({ id }: { id: string }) => id);
    await eventually(list, (ids) => ids.length > 0 && !ids.some((id: string) => former.includes(id)));
    assert.equal((await inspected.platform.request(`${started.public_url}/x`)).status, 200);
    assert.deepEqual([(await call("DELETE", started.uri)).status, (await call("GET", started.uri)).status], [204, 404]);
    assert.equal((await call("DELETE", started.uri)).status, 404);
    assert.equal((await inspected.platform.request(`${started.public_url}/x`)).status, 404);
    assert.equal((await inspected.platform.request(`${inspected.url}/x`)).status, 200);
  });

  it("an endpoint is started and stopped through the local API, with the fields of version 3", async () => {
    const asked = { name: "third", url: "https://third.localhost", upstream: { url: String(inspected.service.port) } };
    const { status, body } = await call("POST", "/api/endpoints", { ...asked, pooling_enabled: true });
    assert.deepEqual(
      [status, body.uri, body.url, body.upstream.url, body.pooling_enabled],
      [
        201,
        "/api/endpoints/third",
        `https://third.localhost:${inspected.platform.httpsPort}`,
        `http://localhost:${inspected.service.port}`,
        true,
      ],
    );
    assert.equal((await call("DELETE", body.uri)).status, 204);
  });

  it("the local API replaces an endpoint, and restores the old one when the server rejects the new one", async () => {
    const asked = { url: "https://put.localhost", upstream: { url: String(inspected.service.port) } };
    const made = await call("PUT", "/api/endpoints/put", asked);
    assert.deepEqual([made.status, made.body.name, made.body.pooling_enabled], [201, "put", false]);
    const { status, body } = await call("PUT", made.body.uri, { ...asked, pooling_enabled: true });
    assert.deepEqual([status, body.url, body.pooling_enabled], [200, made.body.url, true]);
    assert.equal((await inspected.platform.request(`${body.url}/x`)).status, 200);
    for (const [wrong, code, reason] of [
      [{ ...asked, url: "http://put.localhost" }, 502, "local_tunnel_refused"],
      [{ ...asked, name: "other" }, 400, "local_tunnel_invalid"],
      [{ ...asked, upstrem: {} }, 400, "local_tunnel_invalid"],
    ] as const) {
      const refused = await call("PUT", made.body.uri, wrong);
      assert.deepEqual([refused.status, refused.body.details.code], [code, errorCode(reason)]);
      assert.equal((await inspected.platform.request(`${body.url}/x`)).status, 200);
    }
    const tunnel = { proto: "http", addr: String(inspected.service.port), subdomain: "put" };
    assert.equal((await call("PUT", "/api/tunnels/put", tunnel)).status, 200);
    assert.equal((await inspected.platform.request(`${body.url}/x`)).status, 200);
    assert.equal((await call("DELETE", made.body.uri)).status, 204);
  });

  for (const [what, body, status, code, err] of [
    ["without a name", { addr: "80" }, 400, 102, /needs a "name"/],
    ["without an address", { name: "x", proto: "http" }, 400, 102, /needs the address of its service/],
    ["with another protocol", { name: "x", addr: "80", proto: "udp" }, 400, 102, /"proto" must be one of http/],
    ["with an unknown key", { name: "x", addr: "80", options: {} }, 400, 102, /unknown key "options"/],
    ["for a directory", { name: "x", addr: "file:///etc" }, 400, 102, /"addr" names a file/],
    ["for a socket", { name: "x", addr: ["80", "/a=unix:/run/x"] }, 400, 102, /"addr" names a file/],
    ["with a file", { name: "x", addr: "80", traffic_policy_file: "/etc/passwd" }, 400, 102, /names a file/],
    ["that the server rejects", { name: "x", addr: "80", schemes: ["http"] }, 502, 103, /publishes only over HTTPS/],
  ] as const) {
    it(`a tunnel ${what} is rejected by the local API in the form that scripts expect`, async () => {
      const refused = await call("POST", "/api/tunnels", body);
      assert.deepEqual([refused.status, refused.body.status_code, refused.body.error_code], [status, status, code]);
      assert.match(refused.body.details.err, err);
      assert.equal((await call("GET", "/api/tunnels/x")).status, 404);
    });
  }

  it("G11: no value in a call of the local API is read as a file, sent to the server or repeated", async () => {
    const path = join(inspected.directory, "canary-file");
    const canary = "canary-of-a-file-0123456789";
    writeFileSync(path, canary);
    const usual = { name: "reads", addr: String(inspected.service.port), proto: "http" };
    const tls = { name: "reads", addr: "80", proto: "tls" };
    const asked: readonly object[] = [
      ...[path, `file://${path}`, ` ${path}`].flatMap((one) => [
        { ...usual, saml: { idp_metadata_url: one } },
        { ...usual, saml: { idp_metadata_file: one } },
        { ...usual, traffic_policy_file: one },
        { ...usual, policy_file: one },
        { ...usual, mutual_tls_cas: one },
        { ...usual, addr: "https://localhost:1", upstream_tls_verify_cas: one },
        { ...usual, addr: one },
        { ...usual, addr: `/files=${one}` },
        { ...tls, crt: one, key: one },
        { ...tls, terminate_at: "agent", crt: one, key: one },
      ]),
      // The error does not reveal whether a directory exists, either.
      { ...usual, addr: `file://${inspected.directory}` },
      { ...usual, addr: `file://${inspected.directory}/missing` },
    ];
    for (const [form, list] of [
      ["tunnels", asked],
      ["endpoints", [{ name: "reads", upstream: { url: "80" }, agent_tls_termination: { server_certificate: path } }]],
    ] as const) {
      for (const body of list) {
        const refused = await call("POST", `/api/${form}`, body);
        assert.equal(refused.status, 400, JSON.stringify([body, refused.body]));
        assert.doesNotMatch(JSON.stringify(refused.body), /canary-of|no directory|ENOENT/);
      }
    }
    const document = `<${canary}>`;
    const sent = await call("POST", "/api/tunnels", { ...usual, saml: { idp_metadata: document } });
    assert.notEqual(sent.status, 201);
    assert.doesNotMatch(JSON.stringify(sent.body) + inspected.agent.stderr(), new RegExp(canary));
  });

  it("postern agent lists, adds and removes tunnels of the running agent, and stops it", async () => {
    const one = await start("--inspector", "0", "--url", "https://commanded.localhost");
    const at = ["--inspector", String(one.port)];
    const run = async (...words: string[]) => await startCommand(["agent", ...words, ...at]).finished;
    assert.match((await run("status")).stdout, /^online, \d+ms to the server/);
    const added = await run("add", "more", String(inspected.service.port), "--url", "https://more.localhost");
    assert.equal(added.stdout, `https://more.localhost:${inspected.platform.httpsPort}\n`, added.stderr);
    assert.match((await run("tunnels")).stdout, /^NAME .*\ncommand_line .*\nmore +https:\/\/more\.localhost/);
    assert.equal((await run("remove", "more")).code, 0);
    const gone = await run("remove", "more");
    assert.deepEqual([gone.code, gone.stderr.includes("no tunnel has this name")], [7, true]);
    assert.equal((await run("stop")).code, 0);
    assert.equal((await one.agent.finished).code, 0);
    const late = await run("status");
    assert.equal(late.code, 4);
    assert.match(late.stderr, /no agent answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\): start one, or set its address/);
  });
});
