import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { RequestWatch } from "./request-watch.ts";
import type { WatchedRequest } from "./request-watch.ts";

describe("the request watch", () => {
  let now = 0;
  let seen: WatchedRequest[] = [];
  let watch: RequestWatch;
  const request = (text: string): void => watch.fromServer(Buffer.from(text, "latin1"));
  const answer = (text: string): void => watch.fromService(Buffer.from(text, "latin1"));

  beforeEach(() => {
    now = 0;
    seen = [];
    watch = new RequestWatch(
      () => now,
      false,
      (one) => seen.push(one),
    );
  });

  it("the request watch reports a request and its duration when the response begins", () => {
    request("GET /a?b=1 HTTP/1.1\r\nhost: x\r\n\r\n");
    now = 7;
    answer("HTTP/1.1 204 No Content\r\n\r\n");
    assert.deepEqual(seen, [{ method: "GET", target: "/a?b=1", status: 204, durationMs: 7, endedAt: 7 }]);
  });

  it("the request watch skips the header of the PROXY protocol, whole or in pieces", () => {
    const text = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET /first HTTP/1.1\r\nhost: x\r\n\r\n";
    for (const cut of [1, 30, 36, text.length]) {
      watch = new RequestWatch(
        () => now,
        true,
        (one) => seen.push(one),
      );
      request(text.slice(0, cut));
      if (cut < text.length) request(text.slice(cut));
      answer("HTTP/1.1 204 No Content\r\n\r\n");
      assert.deepEqual([seen.length, seen.at(-1)?.target], [1, "/first"], String(cut));
      seen.length = 0;
    }
  });

  it("the request watch reports each of several requests on a stream, whatever the size of their bodies", () => {
    for (const path of ["/1", "/2"]) {
      request(`POST ${path} HTTP/1.1\r\ncontent-length: 30\r\n\r\n`);
      request("GET /not-a-request HTTP/1.1\r\n\r\n");
      answer("HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n");
      answer("HTTP/1.1 500");
    }
    assert.deepEqual(
      seen.map(({ target, status }) => [target, status]),
      [
        ["/1", 200],
        ["/2", 200],
      ],
    );
  });

  it("the request watch skips interim responses", () => {
    request("POST / HTTP/1.1\r\nexpect: 100-continue\r\n\r\n");
    answer("HTTP/1.1 100 Continue\r\n\r\n");
    answer("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 201 Created\r\n\r\n");
    assert.deepEqual(
      seen.map(({ status }) => status),
      [201],
    );
  });

  it("the request watch treats the response to an upgrade as final", () => {
    request("GET /ws HTTP/1.1\r\nupgrade: websocket\r\n\r\n");
    answer("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    assert.equal(seen[0]?.status, 101);
  });

  it("the request watch reports status 0 for a request whose connection ended without a response", () => {
    request("GET / HTTP/1.1\r\n\r\n");
    watch.ended();
    watch.ended();
    assert.deepEqual(
      seen.map(({ status }) => status),
      [0],
    );
  });

  it("the request watch skips everything that is not HTTP", () => {
    request("\u0016\u0003\u0001");
    answer("HTTP/1.1 200 OK\r\n\r\n");
    request("GET / HTTP/1.1\r\n\r\n");
    answer("nonsense");
    answer("HTTP/1.1 2x0 OK\r\n\r\n");
    assert.deepEqual(seen, []);
  });
});
