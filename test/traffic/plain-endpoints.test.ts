/** Endpoints that agents publish at http:// addresses: served by the plain HTTP listener, without TLS. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { request as requestHttp } from "../../src/lib/http.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

const { token, object } = newCredential();
const name = "plain.apps.example.com";

describe("an endpoint at an http:// address", { timeout: 60_000 }, () => {
  let edge: TestEdge;
  let service: HttpService;
  let agent: TestAgent;
  let sdk: SdkProcess;
  let port: number;

  before(async () => {
    edge = await startTestEdge([object], { drainMs: 100 });
    port = edge.edge.http?.port ?? 0;
    service = await startHttpService((request, response) => {
      const { headers } = request;
      response.end([request.url, headers.host, headers["x-forwarded-proto"], headers["x-forwarded-for"]].join(" "));
    });
    agent = await connectAgent(edge, token, service.port);
    sdk = await startSdk();
    await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca: edge.authority.certificatePem, token });
  });
  after(async () => {
    agent.close();
    await sdk.stop();
    await edge.edge.stop();
    await service.stop();
  });

  const ask = async (host: string, path = "/"): Promise<{ status: number; body: string; location: string }> => {
    const outgoing = requestHttp({ host: "127.0.0.1", port, path, agent: false, headers: { host } });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let body = "";
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) body += chunk;
    return { status: response.statusCode ?? 0, body, location: response.headers.location ?? "" };
  };

  it("an endpoint at an http:// address is served there, one request after another, and not over HTTPS", async () => {
    const { url, id } = await agent.bind({ proto: "http", hostname: name });
    assert.equal(url, `http://${name}:${port}`);
    for (const host of [name, `${name}:${port}`, name.toUpperCase()]) {
      assert.deepEqual(await ask(host, "/x?y"), { status: 200, body: `/x?y ${host} http 127.0.0.1`, location: "" });
    }
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    for (const path of ["/one", "/two"]) {
      // In two pieces, cut in the head.
      socket.write(`GET ${path} HTTP/1.1\r\nHo`);
      await new Promise(setImmediate);
      socket.write(`st: ${name}\r\n\r\n`);
      while (!received.includes(`${path} ${name} http`)) await once(socket, "data");
    }
    socket.destroy();
    assert.equal((await edge.ask("h1", { host: name })).status, 404);
    const report = edge.reports.find((one) => one.type === "tunnel_opened" && one.tunnel.id === id);
    assert.deepEqual(report?.type === "tunnel_opened" && report.tunnel.endpoint?.proto, "http");
    await agent.session.unbind(id);
    assert.equal((await ask(name, "/x")).location, `https://${name}:${edge.edge.https.port}/x`);
  });

  it("an endpoint at an http:// address has the modules of its options", async () => {
    const credentials = [["ann", "correct horse"]] as const;
    const domain = "locked.apps.example.com";
    await sdk.ask({ name: "http", domain, scheme: "HTTP", target: service.port, credentials });
    assert.equal((await ask(domain)).status, 401);
  });

  it("the public SDK publishes an http:// endpoint where its scheme is HTTP", async () => {
    const { url } = await sdk.ask({
      name: "http",
      domain: "sdk.apps.example.com",
      scheme: "HTTP",
      target: service.port,
    });
    assert.equal(url, `http://sdk.apps.example.com:${port}`);
    assert.equal((await ask("sdk.apps.example.com", "/sdk")).body, "/sdk sdk.apps.example.com http 127.0.0.1");
    const secure = await sdk.ask({
      name: "http",
      domain: "tls.apps.example.com",
      scheme: "HTTPS",
      target: service.port,
    });
    assert.equal(new URL(secure.url as string).protocol, "https:");
    assert.equal((await ask("tls.apps.example.com")).status, 308);
  });

  it("an endpoint at an http:// address does not change responses for authorities and other names", async () => {
    await agent.bind({ proto: "http", hostname: name });
    assert.equal((await ask("other.apps.example.com", "/y")).status, 308);
    assert.equal((await ask(`${name}:9`)).status, 421);
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nHost: ${name}\r\n\r\n`);
    assert.match(String(((await once(socket, "data")) as [Buffer])[0]), /^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it("an endpoint at an http:// address is refused by name where there is no plain HTTP listener", async () => {
    const bare = await startTestEdge([object], { httpListen: undefined, drainMs: 0 });
    const lonely = await connectAgent(bare, token, service.port);
    await assert.rejects(lonely.bind({ proto: "http", hostname: name }), {
      reason: "agent_option_unsupported",
      message: `publish "http://${name}": this server publishes only over HTTPS`,
    });
    lonely.close();
    await bare.edge.stop();
  });
});
