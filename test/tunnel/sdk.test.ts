/** The public agent SDK, unchanged, with our side of its protocol. */
import assert from "node:assert/strict";
import { afterEach, before, beforeEach, describe, it } from "node:test";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";
import { exchange, makeAuthority, openProxy, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { Authority, TunnelServer } from "../support/tunnel-server.ts";

describe("the public agent SDK", { timeout: 60_000 }, () => {
  let authority: Authority;
  let server: TunnelServer;
  let sdk: SdkProcess;

  before(async () => {
    authority = await makeAuthority();
  });
  beforeEach(async () => {
    [server, sdk] = await Promise.all([startTunnelServer({ authority }), startSdk()]);
  });
  afterEach(async () => {
    await sdk.stop();
    await server.stop();
  });

  const connect = (token = rightToken): Promise<unknown> =>
    sdk.ask({ name: "connect", port: server.port, ca: authority.ca.certificatePem, token });

  it("the public agent SDK binds an http tunnel and serves request after request on one stream", async () => {
    await connect();
    const { url, id } = await sdk.ask({ name: "http", domain: "app.example.test" });
    assert.equal(url, "https://app.example.test");
    const session = server.register.tunnels.get(id as string);
    assert.ok(session);
    const stream = await openProxy(session, id as string);
    for (const path of ["/one", "/two", "/three"]) {
      const body = `hello from ${path}`;
      const text = await exchange(stream, get(path), (got) => got.endsWith(body));
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
    }
    stream.abort();
  });

  it("the public agent SDK starts a labelled tunnel, with the same id after a reconnect", async () => {
    await connect();
    const { id } = await sdk.ask({ name: "labelled", labels: { app: "web", dc: "eu" } });
    assert.deepEqual(server.register.labelled[0]?.request.labels, { app: "web", dc: "eu" });
    const request = "hello from /labelled";
    const first = await openProxy(session(id), id as string);
    await exchange(first, get("/labelled"), (got) => got.endsWith(request));
    server.sockets[0]?.destroy();
    await server.register.until(() => server.register.labelled.length === 2);
    assert.equal(server.register.labelled[1]?.id, id);
    const again = await openProxy(session(id), id as string);
    await exchange(again, get("/labelled"), (got) => got.endsWith(request));
  });

  it("the public agent SDK receives the reason for a rejected token, with a code that it can parse", async () => {
    const refused = await connect("wrong").then(
      () => undefined,
      (error: Error & { errorCode?: string }) => error,
    );
    assert.equal(refused?.errorCode, "ERR_NGROK_107");
    assert.match(refused?.message ?? "", /The agent token is unknown/);
  });

  it("the public agent SDK receives the reason for a rejected bind, and continues", async () => {
    await connect();
    await assert.rejects(sdk.ask({ name: "http", domain: "taken.example.test" }), /in use\. error_code: ERR_NGROK_334/);
    assert.equal((await sdk.ask({ name: "http", domain: "free.example.test" })).url, "https://free.example.test");
  });

  it("the public agent SDK keeps URL and tunnel id when the server restarts and has lost its state", async () => {
    await connect();
    const { url, id } = await sdk.ask({ name: "http" });
    const port = server.port;
    await server.stop();
    server = await startTunnelServer({ authority, port });
    const { register } = server;
    await register.until(() => register.binds.length === 1);
    assert.equal(register.binds[0]?.id, id);
    assert.equal(`https://${register.binds[0]?.request.hostname}`, url);
    assert.notEqual(register.auths[0]?.resumes, "");
    const stream = await openProxy(session(id), id as string);
    await exchange(stream, get("/back"), (got) => got.endsWith("hello from /back"));
  });

  it("A3: the public agent SDK serves 300 simultaneous connections, of which at most 240 are open", async () => {
    await connect();
    const { id } = await sdk.ask({ name: "http" });
    let most = 0;
    const served = Array.from({ length: 300 }, async (_, at) => {
      const stream = await openProxy(session(id), id as string);
      most = Math.max(most, session(id).openStreams);
      await exchange(stream, get(`/${at}`), (got) => got.endsWith(`hello from /${at}`));
      stream.end();
    });
    await Promise.all(served);
    assert.ok(most <= 240, `${most} streams at once`);
    assert.equal(server.register.sessions.length, 1);
  });

  it("A4: the public agent SDK survives thousands of aborted streams in one session", async () => {
    await connect();
    const { id } = await sdk.ask({ name: "http" });
    for (let round = 0; round < 20; round += 1) {
      const streams = await Promise.all(
        Array.from({ length: 100 }, async () => {
          const stream = await openProxy(session(id), id as string);
          await exchange(stream, get("/bytes/400000"), (got) => got.length > 1000);
          return stream;
        }),
      );
      for (const stream of streams) stream.abort();
    }
    const stream = await openProxy(session(id), id as string);
    await exchange(stream, get("/after"), (got) => got.endsWith("hello from /after"));
    assert.equal(server.register.sessions.length, 1);
  });

  it("the public agent SDK carries tcp connections, their half-close included", async () => {
    await connect();
    const { id, url } = await sdk.ask({ name: "tcp" });
    assert.match(url ?? "", /^tcp:\/\/tcp\.example\.test:\d+$/);
    const stream = await openProxy(session(id), id as string, "tcp");
    const echoed = await new Promise<string>((resolve, reject) => {
      let text = "";
      stream.receiver = {
        data(bytes) {
          stream.consumed(bytes.length);
          text += bytes.toString("latin1");
        },
        ended: () => resolve(text),
        drained() {},
        closed: (error) => error && reject(error),
      };
      stream.writeLatin1("over and out");
      stream.end();
    });
    assert.equal(echoed, "over and out");
  });

  it("the public agent SDK transfers more than a window in one response", async () => {
    await connect();
    const { id } = await sdk.ask({ name: "http" });
    const stream = await openProxy(session(id), id as string);
    const text = await exchange(stream, get("/bytes/5000000"), (got) => got.length > 5_000_000);
    assert.equal(text.slice(text.indexOf("\r\n\r\n") + 4).length, 5_000_000);
  });

  it("the public agent SDK removes a tunnel when its listener is closed", async () => {
    await connect();
    const { id } = await sdk.ask({ name: "http" });
    await sdk.ask({ name: "closeListener" });
    await server.register.until(() => !server.register.tunnels.has(id as string));
  });

  it("A6: the public agent SDK loses its tunnels when it falls silent without closing the connection", async () => {
    await sdk.ask({
      name: "connect",
      port: server.port,
      ca: authority.ca.certificatePem,
      token: rightToken,
      heartbeatSeconds: 1,
    });
    const { id } = await sdk.ask({ name: "http" });
    await sdk.ask({ name: "closeSession" });
    await server.register.until(() => !server.register.tunnels.has(id as string));
  });

  it("A1: the public agent SDK gets an immediate empty response to messages without content", async () => {
    const quiet: Buffer[] = [];
    await server.stop();
    server = await startTunnelServer({
      authority,
      connected(socket) {
        const write = socket.write.bind(socket) as (...parts: unknown[]) => boolean;
        socket.write = ((bytes: Buffer, ...rest: unknown[]) => {
          if (bytes.length === 12 && bytes.readUInt32BE(4) === 0x7fff_fffe) quiet.push(Buffer.from(bytes));
          return write(bytes, ...rest);
        }) as typeof socket.write;
      },
    });
    await connect();
    const { id } = await sdk.ask({ name: "http" });
    const stream = await openProxy(session(id), id as string);
    const before = quiet.length;
    for (let at = 0; at < 5; at += 1) await exchange(stream, get("/x"), (got) => got.endsWith("hello from /x"));
    assert.ok(quiet.length > before);
    assert.deepEqual(quiet[0], Buffer.from("000004207ffffffe00000001", "hex"));
  });

  function session(id: string | undefined) {
    const found = server.register.tunnels.get(id ?? "");
    assert.ok(found, "the tunnel is bound");
    return found;
  }
});

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: app.example.test\r\n\r\n`;
}
