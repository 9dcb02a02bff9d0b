/** HTTP at the API's listener, over bare sockets. Every answer has the same error format. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly body: Body;
}

describe("HTTP at the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite);
  });
  after(() => api.stop());

  const host = () => `127.0.0.1:${api.plane.address.port}`;
  const keyed = () => `authorization: Bearer ${api.apiKey}\r\nservice-version: 2\r\n`;
  /** Sends `text`, whose last request closes the connection, and reads all answers. */
  const raw = async (text: string): Promise<RawAnswer[]> => readAnswers(await exchange(api, text));
  const one = async (text: string): Promise<RawAnswer> => {
    const answers = await raw(text);
    assert.equal(answers.length, 1, JSON.stringify(answers.map(({ text: body }) => body)));
    return answers[0] as RawAnswer;
  };
  const refused = (answer: RawAnswer, status: number, number: number): void => {
    assert.deepEqual([answer.status, answer.body.error_code], [status, `ERR_POSTERN_${number}`], answer.text);
    assert.equal(answer.body.status_code, status);
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.match(answer.body.details.operation_id, /^op_[0-9a-z]{27}$/);
    assert.equal(answer.headers.get("postern-operation-id"), answer.body.details.operation_id);
    isSafe(answer.headers);
  };
  const isSafe = (headers: ReadonlyMap<string, string>): void => {
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cache-control"), "no-store");
  };

  it("HTTP at the API forbids sniffing and keeping on every JSON answer, with an ETag and without, refused or not", async () => {
    const policy = await api.request("POST", "/ip_policies", { body: {} });
    const path = `/ip_policies/${policy.body.id}`;
    for (const answer of [
      policy,
      await api.request("GET", path),
      await api.request("GET", "/ip_policies"),
      await api.request("GET", "/healthz"),
      await api.request("GET", "/nowhere"),
      await api.request("PATCH", path, { body: { nonsense: 1 } }),
      await api.request("GET", path, { key: "wrong" }),
      await api.request("DELETE", path),
    ]) {
      isSafe(new Map(Object.entries(answer.headers)));
    }
  });

  it("HTTP at the API lets the documentation page be cached for a while, and restricts what the page can do", async () => {
    const { headers } = await api.request("GET", "/docs");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["cache-control"], "public, max-age=300");
    const description = await api.request("GET", "/openapi.json");
    assert.equal(description.headers["x-content-type-options"], "nosniff");
    assert.equal(description.headers["cache-control"], "public, max-age=300");
  });

  for (const [what, head] of [
    ["without a Host", "GET /healthz HTTP/1.1\r\n"],
    ["with an empty Host", "GET /healthz HTTP/1.1\r\nhost:\r\n"],
    ["with a Host that is none", "GET /healthz HTTP/1.1\r\nhost: a/b\r\n"],
    ["with two Hosts", "GET /healthz HTTP/1.1\r\nhost: a.example\r\nhost: b.example\r\n"],
    ["with the same Host twice", "GET /healthz HTTP/1.1\r\nHost: a.example\r\nhost: a.example\r\n"],
    [
      "with two Authorizations",
      "GET /bot_users HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer a\r\nauthorization: b\r\n",
    ],
    ["with two Content-Types", "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-type: a\r\ncontent-type: b\r\n"],
    [
      "with a transfer coding that nobody undoes",
      "GET /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n",
    ],
    ["to an address that is no http URL", "GET ftp://a.example/healthz HTTP/1.1\r\nhost: a.example\r\n"],
    ["to a URL with user information", "GET http://me@a.example/healthz HTTP/1.1\r\nhost: a.example\r\n"],
    ["to a URL without a Host", "GET http://a.example/healthz HTTP/1.1\r\n"],
    ["with a method that is none", "GE T /healthz HTTP/1.1\r\nhost: a\r\n"],
    ["with a field that is none", "GET /healthz HTTP/1.1\r\nhost: a\r\nbroken\r\n"],
  ] as const) {
    it(`W1: HTTP at the API answers a request ${what} with 400, and closes the connection`, async () => {
      const end = head.includes("chunked") ? "0\r\n\r\n" : "";
      refused(await one(`${head}\r\n${end}GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n`), 400, 3001);
    });
  }

  it("W1: HTTP at the API sees a second Host however many fields are before it", async () => {
    const many = "a:\r\n".repeat(2500);
    refused(await one(`GET /healthz HTTP/1.1\r\nhost: a\r\n${many}host: b\r\n\r\n`), 400, 3001);
  });

  it("HTTP at the API needs no Host from a client of HTTP/1.0", async () => {
    assert.equal((await one("GET /healthz HTTP/1.0\r\n\r\n")).status, 200);
  });

  it("HTTP at the API accepts a target in absolute form, whose authority replaces the Host (RFC 9112 §3.2.2)", async () => {
    const close = "connection: close\r\n\r\n";
    const listed = await one(
      `GET http://api.example:99/ip_policies?limit=1 HTTP/1.1\r\nhost: other\r\n${keyed()}${close}`,
    );
    assert.equal(listed.status, 200, listed.text);
    assert.equal(listed.body.uri, "http://api.example:99/ip_policies");
    assert.equal((await one(`GET HTTP://${host()}/healthz HTTP/1.1\r\nhost: ${host()}\r\n${close}`)).status, 200);
    // The empty path is that of the console.
    const page = await one(`GET http://${host()}?x HTTP/1.1\r\nhost: ${host()}\r\n${close}`);
    assert.match(page.text, /<title>Postern/);
    refused(await one(`GET http://rebound.example/metrics HTTP/1.1\r\nhost: localhost\r\n${close}`), 403, 240);
  });

  it("HTTP at the API answers an expectation that it cannot meet with 417, also beside one that it can", async () => {
    for (const expect of [
      "expect: 200-ok\r\n",
      "expect: 100-continue, x\r\n",
      "expect: 100-continue\r\nexpect: x\r\n",
    ]) {
      const head = `POST /ip_policies HTTP/1.1\r\nhost: a\r\n${keyed()}content-type: application/json\r\n${expect}`;
      refused(await one(`${head}content-length: 2\r\nconnection: close\r\n\r\n{}`), 417, 3014);
    }
  });

  it("HTTP at the API answers CONNECT with the methods that there are", async () => {
    const answer = await one("CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\r\n");
    refused(answer, 405, 224);
    assert.match(answer.headers.get("allow") ?? "", /GET, .*OPTIONS/);
    assert.equal(answer.headers.get("connection"), "close");
  });

  it("HTTP at the API answers OPTIONS * with the methods that there are, and * to nothing else", async () => {
    const answer = await one("OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get("allow") ?? "", /PATCH/);
    refused(await one("GET * HTTP/1.1\r\nhost: a\r\n\r\n"), 400, 3001);
  });

  it("HTTP at the API continues in HTTP when a client offers an upgrade", async () => {
    const upgrade = "connection: upgrade, close\r\nupgrade: websocket\r\n";
    assert.equal((await one(`GET /healthz HTTP/1.1\r\nhost: a\r\n${upgrade}\r\n`)).status, 200);
  });

  it("HTTP at the API refuses a body with a content coding, except identity", async () => {
    for (const coding of ["gzip", "identity, br", "x"]) {
      const answer = await api.request("POST", "/ip_policies", { body: {}, headers: { "content-encoding": coding } });
      assert.deepEqual([answer.status, answer.body.error_code], [415, errorCode("content_encoding")]);
      assert.equal(answer.headers["accept-encoding"], "identity");
    }
    const headers = { "content-encoding": "Identity" };
    assert.equal((await api.request("POST", "/ip_policies", { body: {}, headers })).status, 201);
  });

  it("HTTP at the API answers a broken request behind others in its turn", async () => {
    const head = `POST /ip_policies HTTP/1.1\r\nhost: a\r\n${keyed()}content-type: application/json\r\n`;
    const answers = await raw(`${head}content-length: 2\r\n\r\n{}`.repeat(2) + "broken\r\n\r\n");
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 400],
    );
    refused(answers[2] as RawAnswer, 400, 3001);
  });

  it("HTTP at the API answers a broken body once, behind the requests before", async () => {
    const head = `POST /ip_policies HTTP/1.1\r\nhost: a\r\n${keyed()}content-type: application/json\r\n`;
    const whole = `${head}content-length: 2\r\n\r\n{}`;
    const answers = await raw(`${whole}${head}transfer-encoding: chunked\r\n\r\nzz\r\n`);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400],
    );
    refused(answers[1] as RawAnswer, 400, 3001);
  });

  it("HTTP at the API answers a head that is too large", async () => {
    refused(await one(`GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`), 431, 3011);
  });
});

function exchange(api: TestApi, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.plane.address.port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    // A server that neither answers nor closes would block the test.
    socket.setTimeout(10_000, () => socket.destroy(new Error(`the connection was left open after ${answer}`)));
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => (answer += chunk));
    // Bytes that had not been read when it closed.
    socket.on("error", (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? undefined : reject(error)));
    socket.on("close", () => resolve(answer));
  });
}

/** Every answer in `text`, by their Content-Length. */
function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n");
    const [start = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
    );
    const length = Number(headers.get("content-length") ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    const isJson = headers.get("content-type") === "application/json" && body !== "";
    answers.push({
      status: Number(start.slice(9, 12)),
      headers,
      text: body,
      body: isJson ? (JSON.parse(body) as Body) : {},
    });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}
