import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connectThrough } from "./proxy.ts";

/** Requests that a test proxy received. Every connection leads to the echo service. */
interface TestProxy {
  readonly port: number;
  readonly asked: string[];
}

let echo: Server;
const servers: Server[] = [];
const sockets: Socket[] = [];
const listen = async (server: Server): Promise<number> => {
  servers.push(server);
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

before(async () => {
  echo = createServer((socket) => socket.on("error", () => {}).pipe(socket));
  await listen(echo);
});
after(() => {
  for (const server of servers) server.close();
  for (const socket of sockets) socket.destroy();
});

function splice(socket: Socket, first: string): void {
  const on = connect(portOf(echo), "127.0.0.1");
  on.on("error", () => {});
  sockets.push(on);
  socket.write(first, "latin1");
  socket.pipe(on).pipe(socket);
}

/** Answers CONNECT with `answer`, and forwards after a 200. */
async function httpProxy(answer: string): Promise<TestProxy> {
  const asked: string[] = [];
  const port = await listen(
    createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (head: Buffer) => {
        asked.push(head.toString("latin1"));
        if (answer.startsWith("HTTP/1.1 200")) splice(socket, answer);
        else socket.end(answer);
      });
    }),
  );
  return { port, asked };
}

/** Requires `user` with this password if given. Answers requests with `reply`. */
async function socksProxy(reply: number, user?: readonly [string, string]): Promise<TestProxy> {
  const asked: string[] = [];
  const port = await listen(
    createServer((socket) => {
      const stages = [
        () => socket.write(Buffer.from([5, user ? 2 : 0])),
        ...(user
          ? [
              (bytes: Buffer) => {
                const [name, word] = user;
                const right = Buffer.from([1, name.length, ...Buffer.from(name), word.length, ...Buffer.from(word)]);
                socket.write(Buffer.from([1, bytes.equals(right) ? 0 : 1]));
              },
            ]
          : []),
        (bytes: Buffer) => {
          asked.push(bytes.toString("hex"));
          const answer = String.fromCharCode(5, reply, 0, 1, 127, 0, 0, 1, 0, 80);
          if (reply === 0) splice(socket, answer);
          else socket.end(answer, "latin1");
        },
      ];
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => stages.shift()?.(bytes));
    }),
  );
  return { port, asked };
}

async function through(proxy: string, host = "server.example", port = 4443): Promise<string> {
  const socket = await connectThrough(new URL(proxy), { host, port }, () => {});
  socket.write("hello");
  socket.resume();
  const [bytes] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return bytes.toString();
}

describe("an agent behind a proxy", () => {
  it("an agent behind a proxy sends CONNECT with the credentials of the proxy's URL", async () => {
    const proxy = await httpProxy("HTTP/1.1 200 Connection established\r\n\r\n");
    assert.equal(await through(`http://ann:p%40ss@127.0.0.1:${proxy.port}`), "hello");
    assert.deepEqual(proxy.asked[0]?.split("\r\n").slice(0, 3), [
      "CONNECT server.example:4443 HTTP/1.1",
      "Host: server.example:4443",
      `Proxy-Authorization: Basic ${btoa("ann:p@ss")}`,
    ]);
    await through(`http://127.0.0.1:${proxy.port}`, "2001:db8::1");
    assert.match(proxy.asked[1] ?? "", /^CONNECT \[2001:db8::1\]:4443 HTTP\/1\.1\r\nHost: \S+\r\n\r\n$/);
  });

  it("an agent behind a proxy keeps bytes that arrived together with the proxy's answer", async () => {
    const proxy = await httpProxy("HTTP/1.1 200 OK\r\n\r\nearly ");
    const socket = await connectThrough(
      new URL(`http://127.0.0.1:${proxy.port}`),
      { host: "a.example", port: 1 },
      () => {},
    );
    socket.resume();
    const [bytes] = (await once(socket, "data")) as [Buffer];
    assert.equal(bytes.toString(), "early ");
    socket.destroy();
  });

  for (const [answer, why] of [
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", /answered 407: it requires credentials/],
    ["HTTP/1.1 403 Forbidden\r\n\r\n", /answered 403/],
    ["SSH-2.0-OpenSSH\r\n\r\n", /something that is not HTTP/],
    ["HTTP/1.1 200", /closed the connection/],
  ] as const) {
    it(`an agent behind a proxy reports the proxy's answer: ${answer.trim()}`, async () => {
      const proxy = await httpProxy(answer === "HTTP/1.1 200" ? "" : answer);
      await assert.rejects(through(`http://127.0.0.1:${proxy.port}`), why);
    });
  }

  it("an agent behind a SOCKS 5 proxy sends names unresolved and addresses as they are", async () => {
    const proxy = await socksProxy(0);
    assert.equal(await through(`socks5://127.0.0.1:${proxy.port}`, "a.example", 443), "hello");
    await through(`socks5://127.0.0.1:${proxy.port}`, "192.0.2.7", 443);
    await through(`socks5://127.0.0.1:${proxy.port}`, "2001:db8::7", 443);
    assert.deepEqual(proxy.asked, [
      `0501000309${Buffer.from("a.example").toString("hex")}01bb`,
      "05010001c000020701bb",
      "0501000420010db800000000000000000000000701bb",
    ]);
  });

  it("an agent behind a SOCKS 5 proxy authenticates, and reports why it was refused", async () => {
    const proxy = await socksProxy(0, ["ann", "secret"]);
    assert.equal(await through(`socks5://ann:secret@127.0.0.1:${proxy.port}`), "hello");
    await assert.rejects(through(`socks5://ann:wrong@127.0.0.1:${proxy.port}`), /rejects these credentials/);
    const { port } = await socksProxy(5);
    await assert.rejects(through(`socks5://127.0.0.1:${port}`), /that nothing listens there/);
  });

  it("an agent behind a proxy that cannot be reached names the proxy", async () => {
    await assert.rejects(through("http://127.0.0.1:1"), /cannot reach the proxy 127\.0\.0\.1:1/);
  });
});
