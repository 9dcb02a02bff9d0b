import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { parseTargets } from "../../src/agent/parse-targets.ts";

describe("a directory that an agent publishes", { timeout: 120_000 }, () => {
  const outside = mkdtempSync(join(tmpdir(), "postern-files-"));
  const directory = join(outside, "site");
  let platform: TestPlatform;
  let url: string;
  before(async () => {
    mkdirSync(join(directory, "docs", "deep"), { recursive: true });
    mkdirSync(join(directory, "home"));
    writeFileSync(join(outside, "secret.txt"), "secret");
    writeFileSync(join(directory, ".env"), "secret");
    writeFileSync(join(directory, "a.txt"), "0123456789");
    writeFileSync(join(directory, "empty.bin"), "");
    writeFileSync(join(directory, "home", "index.html"), "<p>home");
    writeFileSync(join(directory, "docs", "a <b>.txt"), "odd");
    symlinkSync(join(outside, "secret.txt"), join(directory, "link-out.txt"));
    symlinkSync(outside, join(directory, "dir-out"));
    symlinkSync(join(directory, ".env"), join(directory, "link-hidden"));
    symlinkSync("a.txt", join(directory, "link-in.txt"));
    utimesSync(join(directory, "a.txt"), 1_700_000_000, 1_700_000_000);
    platform = await startPlatform({ drainMs: 50 });
    ({ url } = await platform.startAgent({ upstream: 1, tunnel: { upstream: parseTargets([`file://${directory}`]) } }));
  });
  after(async () => {
    await platform.stop();
    rmSync(outside, { recursive: true });
  });
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    platform.request(`${url}${path}`, { headers, method });

  it("a directory that an agent publishes serves its files with their types", async () => {
    const { status, text, headers } = await get("/a.txt");
    assert.deepEqual([status, text, headers["content-type"]], [200, "0123456789", "text/plain; charset=utf-8"]);
    assert.equal(headers["last-modified"], "Tue, 14 Nov 2023 22:13:20 GMT");
    assert.equal(headers["x-content-type-options"], "nosniff");
    const empty = await get("/empty.bin");
    assert.deepEqual([empty.status, empty.text], [200, ""]);
    assert.equal((await get("/link-in.txt")).text, "0123456789");
    const head = await get("/a.txt", {}, "HEAD");
    assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "10"]);
    assert.equal((await get("/a.txt", {}, "POST")).status, 405);
  });

  it("R1: a directory that an agent publishes reads an encoded slash as a slash, and never leads outside by it", async () => {
    assert.equal((await get("/docs%2Fa%20%3Cb%3E.txt")).text, "odd");
    for (const path of ["/docs/..%2F..%2Fsecret.txt", "/docs%2f..%2f..%2fsecret.txt", "/..%2Fsecret.txt"]) {
      assert.equal((await get(path)).status, 400, path);
    }
    for (const path of [
      "/docs%2F.env",
      "/%2Fetc%2Fpasswd",
      "/dir-out%2Fsecret.txt",
      "/%FF",
      "/%C0%AE%C0%AE%C0%AFsecret.txt",
    ]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it("a directory that an agent publishes lists its content, or shows its index file", async () => {
    const { text } = await get("/");
    assert.match(text, /href="\.\/docs\/">docs\/</);
    assert.doesNotMatch(text, /env/);
    assert.match((await get("/docs/")).text, /href="\.\/a%20%3Cb%3E\.txt">a &#60;b&#62;\.txt</);
    assert.equal((await get("/home/")).text, "<p>home");
    const bare = await get("/docs?x=1");
    assert.deepEqual([bare.status, bare.headers["location"]], [301, "/docs/?x=1"]);
  });

  for (const path of [
    "/.env",
    "/link-out.txt",
    "/dir-out/secret.txt",
    "/link-hidden",
    "/docs/..%2f..%2fsecret.txt",
    "/docs/%2e%2e/%2e%2e/secret.txt",
    "/..%5csecret.txt",
    "/nowhere",
    "/a.txt/b",
  ]) {
    it(`a directory that an agent publishes does not reveal ${path}`, async () => {
      const { status, text } = await get(path);
      assert.ok(status === 404 || status === 400, String(status));
      assert.doesNotMatch(text, /^secret/);
    });
  }

  for (const [range, status, text, shown] of [
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=0-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=10-", 416, "", "bytes */10"],
    ["bytes=5-2", 200, "0123456789", undefined],
    ["bytes=0-1,4-5", 200, "0123456789", undefined],
    ["lines=1-2", 200, "0123456789", undefined],
  ] as const) {
    it(`a directory that an agent publishes answers the range ${range} with ${status}`, async () => {
      const answer = await get("/a.txt", { range });
      assert.deepEqual([answer.status, answer.text, answer.headers["content-range"]], [status, text, shown]);
    });
  }

  it("a directory that an agent publishes sends a file only to clients without the current version", async () => {
    const etag = String((await get("/a.txt")).headers["etag"]);
    const since = "Tue, 14 Nov 2023 22:13:20 GMT";
    const before = "Tue, 14 Nov 2023 22:13:19 GMT";
    for (const [headers, status] of [
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `W/${etag}, "x"` }, 304],
      [{ "if-none-match": '"x"' }, 200],
      [{ "if-modified-since": since }, 304],
      [{ "if-modified-since": before }, 200],
      [{ "if-none-match": '"x"', "if-modified-since": since }, 200],
      [{ "if-match": '"x"' }, 412],
      [{ "if-match": etag }, 200],
      [{ "if-unmodified-since": before }, 412],
      [{ range: "bytes=0-0", "if-range": etag }, 206],
      [{ range: "bytes=0-0", "if-range": '"x"' }, 200],
      [{ range: "bytes=0-0", "if-range": since }, 206],
    ] as const) {
      assert.equal((await get("/a.txt", headers)).status, status, JSON.stringify(headers));
    }
  });
});
