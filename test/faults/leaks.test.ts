/** Memory and descriptors that traffic leaves behind. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import { freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const warmUp = 5_600;
const measured = 8_000;
/** Requests of one connection. */
const batch = 40;
const side = 20;
/** Bytes per request, fewer than in any object. A smaller growth of a thread is noise. */
const noise = 64;
const threads = ["edge", "control plane"];

describe("a server", () => {
  const data = mkdtempSync(join(tmpdir(), "postern-leaks-"));
  let server: Running;
  let upstream: HttpService;
  let facts: { url: string; ca_file: string; https_port: number };

  before(async () => {
    upstream = await startHttpService((_request, response) => response.end("served"));
    server = startCommand(["dev", String(upstream.port), "--json", "--data", data], {
      env: { ...freePorts, NODE_OPTIONS: `--expose-gc --import=${root}test/support/thread-memory.ts` },
    });
    facts = JSON.parse(await server.firstLine()) as typeof facts;
  });
  after(async () => {
    await server.end();
    await upstream.stop();
    rmSync(data, { recursive: true });
  });

  const connect = async (protocol: "http/1.1" | "h2"): Promise<TLSSocket> => {
    const servername = new URL(facts.url).hostname;
    const ca = readFileSync(facts.ca_file);
    const { https_port: port } = facts;
    const socket = connectTls({ host: "127.0.0.1", port, servername, ca, ALPNProtocols: [protocol] });
    await once(socket, "secureConnect");
    return socket;
  };
  /** Pipelined, `side` at a time. Every tenth request has no route, so the edge answers it. */
  const overHttp1 = async (count: number): Promise<void> => {
    const socket = await connect("http/1.1");
    const { host } = new URL(facts.url);
    const text = `GET /page HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const refused = `GET /a%2fb HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    for (let sent = 0; sent < count; sent += side) {
      socket.write(text.repeat(side - 2) + refused.repeat(2));
      for (let answers = 0; answers < side;) {
        const [bytes] = (await once(socket, "data")) as [Buffer];
        answers += bytes.toString("latin1").split("HTTP/1.1 ").length - 1;
      }
    }
    socket.destroy();
    await once(socket, "close");
  };
  const overHttp2 = async (count: number): Promise<void> => {
    const socket = await connect("h2");
    const session = connectHttp2(facts.url, { createConnection: () => socket });
    for (let sent = 0; sent < count; sent += side) {
      await Promise.all(Array.from({ length: side }, (_, at) => ask(session, at % 10 === 0 ? "/a%2fb" : "/page")));
    }
    session.destroy();
    await once(socket, "close");
  };
  const ask = async (session: ClientHttp2Session, path: string): Promise<void> => {
    const stream = session.request({ ":path": path, ":authority": new URL(facts.url).host });
    stream.resume();
    await once(stream, "close");
  };
  const visit = async (requests: number): Promise<void> => {
    for (let count = 0; count < requests; count += 2 * batch) await Promise.all([overHttp1(batch), overHttp2(batch)]);
  };
  /** Returns the bytes in use by thread, after garbage collection. */
  const memory = async (): Promise<Map<string, number>> => {
    const from = server.stderr().length;
    const bytes = new Map<string, number>();
    server.process.kill("SIGUSR2");
    while (!threads.every((thread) => bytes.has(thread))) {
      await once(server.process.stderr as NodeJS.ReadableStream, "data");
      for (const [, line] of server
        .stderr()
        .slice(from)
        .matchAll(/^memory (.*)\n/gm)) {
        const one = JSON.parse(line as string) as { thread: string; bytes: number };
        bytes.set(one.thread, one.bytes);
      }
    }
    return bytes;
  };
  const descriptors = (): number => readdirSync(`/proc/${server.process.pid}/fd`).length;

  it("S8: a server retains nothing of finished requests and connections, neither memory nor descriptors", async () => {
    await visit(warmUp);
    const before = await memory();
    const open = descriptors();
    await visit(measured);
    const later = await memory();
    for (const thread of threads) {
      const more = (later.get(thread) as number) - (before.get(thread) as number);
      assert.ok(more < measured * noise, `the ${thread} holds ${more} bytes more than ${measured} requests before`);
    }
    assert.ok(descriptors() <= open, `${descriptors() - open} descriptors more are open`);
  });
});
