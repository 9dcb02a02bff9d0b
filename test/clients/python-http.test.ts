/** Python's HTTP clients reach a service through the edge and an agent, each with its own defaults. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { WebSocketServer } from "ws";
import { root } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { readBody } from "../support/http-client.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { findProgram, skipWithout } from "../support/programs.ts";
import type { ProgramName } from "../support/programs.ts";
import { runPython } from "../support/python.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const clients: Readonly<Record<string, readonly ProgramName[]>> = {
  requests: ["python3-requests"],
  "httpx over HTTP/1.1": ["python3-httpx"],
  "httpx over HTTP/2": ["python3-httpx", "python3-h2"],
  aiohttp: ["python3-aiohttp"],
  "http.client": ["python3"],
};
const bare = "http.client";
/** The response to a request that `/slow` holds open, and the wait for its next part. */
let held: { readonly response: ServerResponse; parts: number } | undefined;
let slow = Promise.withResolvers<ServerResponse>();

const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>> = {
  "/echo": async (request, response) => {
    const body = (await readBody(request)).toString();
    const length = request.headers["content-length"] ?? "no length";
    response.end(`${request.method} ${length} [${body}] ${request.headers["cookie"] ?? ""}`);
  },
  // The service reads nothing of the body.
  "/refused": (_request, response) => response.writeHead(413).end("too large"),
  "/trailers": (_request, response) => {
    response.writeHead(200, { trailer: "x-end" }).write("body");
    response.addTrailers({ "x-end": "1" });
    response.end();
  },
  "/stream": (_request, response) => {
    held = { response, parts: 1 };
    response.write("part 1\n");
  },
  "/release": (_request, response) => {
    if (held) {
      held.parts += 1;
      held.response.write(`part ${held.parts}\n`);
      if (held.parts === 3) held.response.end();
    }
    response.end();
  },
  "/nothing": (_request, response) => response.writeHead(204).end(),
  "/same": (_request, response) => response.writeHead(304, { etag: '"1"' }).end(),
  "/gzip": (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed")),
  "/digest": async (request, response) =>
    response.end(
      createHash("sha256")
        .update(await readBody(request))
        .digest("hex"),
    ),
  "/bytes": (request, response) => response.end(Buffer.alloc(Number(request.url?.split("=")[1]), "x")),
  "/redirect": (request, response) =>
    response.writeHead(Number(request.url?.split("?")[1]), { location: "/echo" }).end(),
  "/cookies": (_request, response) =>
    response.writeHead(200, { "set-cookie": ["a=1; Path=/; Secure", "b=2; Path=/; HttpOnly"] }).end(),
  "/cookie": (request, response) => response.end(request.headers["cookie"]),
  "/slow": (_request, response) => slow.resolve(response),
};

let platform: TestPlatform;
let service: HttpService;
let agent: OurAgent;
let sockets: WebSocketServer;
before(async () => {
  service = await startHttpService((request, response) => {
    const [path = ""] = request.url?.split("?") ?? [];
    const answer = answers[path] ?? (() => response.end(request.url));
    void Promise.resolve(answer(request, response)).catch(() => response.destroy());
  });
  sockets = new WebSocketServer({ server: service.server, path: "/socket", handleProtocols: () => "chat" });
  sockets.on("connection", (socket) =>
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary && data.toString() === "close") socket.close(4001, "over");
      else socket.send(data, { binary: isBinary });
    }),
  );
  platform = await startPlatform({ drainMs: 30_000 });
  const trafficPolicy = JSON.stringify({
    on_http_request: [
      {
        expressions: ["hasReqHeader('x-refuse')"],
        actions: [{ type: "custom-response", config: { status_code: 413, body: "too large" } }],
      },
    ],
  });
  agent = await platform.startAgent({ upstream: service.port, tunnel: { trafficPolicy } });
});
after(async () => {
  sockets.close();
  await platform.stop();
  await service.stop();
});

/** Stops the server during a response, lets the response finish, and waits until the agent has reconnected. */
async function restart(): Promise<void> {
  const response = await slow.promise;
  slow = Promise.withResolvers();
  const restarted = platform.restart();
  await eventually(isClosed, Boolean);
  response.end("finished");
  await restarted;
  await eventually(
    async () => (await platform.request(`${agent.url}/`)).status,
    (status) => status === 200,
  );
}

/** Returns whether the edge accepts no new connection. */
async function isClosed(): Promise<boolean> {
  const socket = connect(platform.httpsPort, "127.0.0.1");
  try {
    await once(socket, "connect");
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

for (const [client, needed] of Object.entries(clients)) {
  describe(`Python's ${client}`, { skip: skipWithout(...needed), timeout: 240_000 }, () => {
    let seen: ReadonlyMap<string, unknown>;
    before(async () => {
      seen = await runPython({
        python: findProgram(needed[0] as ProgramName) as string,
        script: `${root}test/clients/http_clients.py`,
        given: { client, url: agent.url, ca: join(platform.directory, "ca.pem") },
        restart,
      });
    });
    const found = (name: string, expected: unknown): void => assert.deepEqual(seen.get(name), expected);
    const text = (body: string, status = 200) => ({ status, body, type: null });

    it(`Python's ${client} sends empty and chunked bodies, and waits for 100 Continue`, () => {
      found("empty body", text("POST 0 [] "));
      found("length of zero", text("POST 0 [] "));
      const chunks = (seen.get("body in chunks") as { readonly body: string }).body;
      assert.equal(chunks, "POST no length [part 0;part 1;part 2;part 3;part 4;] ");
      assert.match((seen.get("expect") as { readonly body: string }).body, /^POST 8 \[expected\] /);
    });

    it(`Python's ${client} receives the response to each rejected upload of 3 MiB`, () => {
      found("refused uploads", [413, 413, 413, 413, 413, 413]);
    });

    it(`Python's ${client} receives parts as they are sent, trailers, and responses without a body`, () => {
      found("stream", "part 1\npart 2\npart 3\n");
      found("trailers", [text("body"), text("GET no length [] ")]);
      found("no content", [204, 304]);
      found("methods", [200, 200, 200, 200, 200, 200, 200]);
    });

    it(`Python's ${client} sends and receives large, compressed and percent-encoded data`, () => {
      found("large bodies", { status: 200, sent: true, received: 3 * 1024 * 1024 });
      const packed = client === bare ? gzipSync("packed").toString("latin1") : "packed";
      found("compressed", packed);
      found("path", text("/a%2Fb/c?d=%20e"));
    });

    it(`Python's ${client} follows redirects and stores cookies`, () => {
      const kept = [
        text("GET no length [] "),
        text("GET no length [] "),
        text("POST 4 [kept] "),
        text("POST 4 [kept] "),
      ];
      if (client === bare)
        return found(
          "redirects",
          [302, 303, 307, 308].map((status) => text("", status)),
        );
      found("redirects", kept);
      found("cookies", [200, ["a=1", "b=2"], "a=1; b=2"]);
    });

    it(`Python's ${client} reuses a connection, and opens another one after the server has restarted`, () => {
      found("reuse", { statuses: [200], connections: 0 });
      // With any server, this version of httpx continues to use a connection after GOAWAY. Only a new client helps.
      const broken = client === "httpx over HTTP/2";
      const same = broken ? ["RemoteProtocolError", "RemoteProtocolError"] : ["finished", "/after"];
      found("restarted", [...same, "/again"]);
    });

    if (client === "aiohttp") {
      it(`Python's ${client} opens WebSockets`, () => {
        found("WebSocket", { text: "hello", binary: 100_000, protocol: "chat", closes: true, code: 4001 });
      });
    }
  });
}
