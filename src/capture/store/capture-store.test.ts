import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { makeLog } from "../../lib/log.ts";
import { firstIdAt } from "../../lib/traffic-ids.ts";
import type { CapturedRequest } from "../captured-request.ts";
import type { CaptureFilter } from "../query.ts";
import type { CaptureRule } from "../rule.ts";
import { CaptureStore } from "./capture-store.ts";
import type { CaptureStoreOptions } from "./capture-store.ts";
import { answerBlocks } from "./disk-blocks.ts";
import { readPage } from "./record-page.ts";
import { readRecords } from "./read-records.ts";
import type { CaptureGap, RecordingNode } from "../../routing/planes/captured-blocks.ts";
import { hourMs } from "../../lib/durations.ts";
import { storeRecord } from "../../../test/support/captured-records.ts";

const keys = [{ id: "0a", key: Buffer.alloc(32, 7) }];
const rule: CaptureRule = {
  enabled: true,
  sample: 1,
  hours: 24,
  redactHeaders: ["x-api-key"],
  redactQuery: ["token"],
  bodyBytes: 0,
};
const directories: string[] = [];

after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function start(options: Partial<CaptureStoreOptions> = {}) {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "capture-"));
  directories.push(directory);
  const clock = makeManualClock();
  const log = makeLog({ level: "error", format: "text", now: () => 0, monotonic: () => 0, write: () => {} });
  const open = () => new CaptureStore({ directory, keys, maxBytes: 1e9, clock, log, ...options });
  const files = (accountId = "ac_1"): string[] =>
    readdirSync(join(directory, accountId))
      .sort()
      .map((file) => join(directory, accountId, file));
  return { directory, clock, open, files, places: { directory, keys } };
}

function record(number: number, change: Partial<CapturedRequest> = {}): CapturedRequest {
  return {
    id: `req_${String(number).padStart(9, "0")}`,
    receivedAt: 1_800_000_000_000_000 + number * 1_000,
    nodeId: "nd_1",
    edge: 1,
    accountId: "ac_1",
    siteId: "edghts_1",
    routeId: "edghtsrt_1",
    revision: 7,
    request: {
      method: "GET",
      scheme: "https",
      httpVersion: "2",
      authority: "app.example.com",
      target: `/a/${number}?token=canary-query&b=ü`,
      path: `/a/${number}`,
      headers: [
        ["host", "app.example.com"],
        ["authorization", "Bearer canary-authorization"],
        ["cookie", "a=canary-cookie"],
        ["x-api-key", "canary-key"],
        ["referer", "https://app.example.com/?token=canary-referer"],
        ["x-count", String(number)],
      ],
      redacted: [],
      body: number % 2 === 0 ? undefined : Buffer.from([0, 255, number % 256]),
      websocket: false,
      upgrade: "",
    },
    connection: {
      source: "192.0.2.1",
      sourcePort: 40_000 + (number % 1000),
      localAddress: undefined,
      localPort: 443,
      startedAt: 1_800_000_000_000,
      tls: {
        version: "TLSv1.3",
        cipher: "TLS_AES_128_GCM_SHA256",
        serverName: "app.example.com",
        alpn: "h2",
        offeredAlpn: ["h2", "http/1.1"],
        ja4: "t13d1516h2_8daaf6152771_b186095e22b6",
        clientCertificate: number === 1 ? Buffer.from("certificate") : undefined,
      },
    },
    visitor:
      number === 1
        ? {
            module: "oidc",
            clientId: "c",
            userId: "au_1",
            sessionId: "as_1",
            email: "ann@example.com",
            emailVerified: true,
            name: "Ann",
            groups: ["staff"],
          }
        : undefined,
    decision: {
      steps: [{ by: "router", outcome: "passed", reason: "matched" }],
      outcome: "forwarded",
      status: 200,
      errorCode: undefined,
      backendId: "bkdst_1",
      tunnel: undefined,
    },
    upstream: { status: 200, headers: [["set-cookie", "s=canary-set-cookie"]], waitedMs: 1.5 },
    durationMs: 2.25,
    bytesIn: 0,
    bytesOut: 1024,
    cutShort: false,
    ...change,
  };
}

async function all(
  places: Parameters<typeof readRecords>[0],
  query: { readonly since?: number; readonly until?: number; readonly filter?: CaptureFilter } = {},
  newestFirst = false,
) {
  const gaps: CaptureGap[] = [];
  const records: CapturedRequest[] = [];
  const options = { newestFirst, gap: (gap: CaptureGap) => void gaps.push(gap) };
  for await (const one of readRecords(places, { accountId: "ac_1", ...query }, options)) records.push(one);
  return { records, gaps, ids: records.map(({ id }) => Number(id.slice(4))) };
}

describe("the store of captured requests", () => {
  it("the store of captured requests returns every part of a record, except secret values", async () => {
    const { open, places } = start();
    const store = open();
    for (let number = 1; number <= 500; number += 1) storeRecord(store, record(number), rule);
    store.flush();
    const { records, gaps } = await all(places);
    assert.equal(records.length, 500);
    assert.deepEqual(gaps, []);
    const [first] = records;
    const { request, upstream, ...rest } = record(1);
    const { request: shown, upstream: answered, ...others } = first as CapturedRequest;
    assert.deepEqual(others, rest);
    const hidden = [...request.headers.slice(1, 5), ["target", request.target]].map(([name]) => name);
    assert.deepEqual(hidden, ["authorization", "cookie", "x-api-key", "referer", "target"]);
    assert.deepEqual(shown.redacted, ["authorization", "cookie", "x-api-key"]);
    assert.match(shown.target, /^\/a\/1\?token=[0-9a-f]{16}&b=ü$/);
    assert.deepEqual(
      { ...shown, headers: [], target: "", redacted: [] },
      { ...request, headers: [], target: "", redacted: [] },
    );
    assert.match(String(answered?.headers), /^set-cookie,[0-9a-f]{16}$/);
    assert.deepEqual({ ...answered, headers: [] }, { ...upstream, headers: [] });
    const values = new Set(records.map((one) => one.request.headers[1]?.[1]));
    assert.equal(values.size, 1);
    store.close();
  });

  it("K4: the store of captured requests has no text of a request in clear, and no secret even with the keys", async () => {
    const { open, places, files } = start();
    const store = open();
    for (let number = 1; number <= 50; number += 1) storeRecord(store, record(number), rule);
    store.close();
    const written = Buffer.concat(files().map((file) => readFileSync(file)));
    for (const text of ["canary", "app.example.com", "192.0.2.1", "ann@"]) assert.equal(written.includes(text), false);
    assert.equal(JSON.stringify((await all(places)).records).includes("canary"), false);
    const other = { ...places, keys: [{ id: "0a", key: Buffer.alloc(32, 8) }] };
    assert.equal((await all(other)).records.length, 0);
    assert.equal(statSync(files()[0] as string).mode & 0o077, 0);
  });

  it("P1: the store of captured requests opens no block under another account", async () => {
    const { open, places, files, directory } = start();
    const store = open();
    storeRecord(store, record(1), rule);
    storeRecord(store, record(2, { accountId: "ac_2" }), rule);
    store.close();
    const [own = ""] = files();
    const [theirs = ""] = files("ac_2");
    writeFileSync(own, readFileSync(theirs));
    const { ids, gaps } = await all(places);
    assert.deepEqual([ids, gaps.map(({ reason }) => reason)], [[], ["damaged"]]);
    await assert.rejects(readRecords({ directory, keys }, { accountId: "../ac_2" }).next(), /malformed/);
  });

  it("the store of captured requests reads no further block when nobody waits any more", async () => {
    const { open, places } = start();
    const store = open();
    for (const number of [1, 2, 3]) {
      storeRecord(store, record(number), rule);
      store.flush();
    }
    store.close();
    let asked = 0;
    const reading = readRecords(places, { accountId: "ac_1" }, { isOver: () => (asked += 1) > 1 });
    const ids: string[] = [];
    await assert.rejects(async () => {
      for await (const { id } of reading) ids.push(id);
    }, /took too long/);
    assert.equal(asked, 2);
    assert.ok(ids.length < 3);
  });

  it("a search that takes too long returns what it found, and the next page continues", async () => {
    const { open, places } = start();
    const store = open();
    const numbers = Array.from({ length: 12 }, (_one, at) => at + 1);
    for (const number of numbers) {
      storeRecord(
        store,
        record(number, { id: `${firstIdAt("req_", 1_800_000_000_000 + number).slice(0, -1)}1` }),
        rule,
      );
      store.flush();
    }
    store.close();
    const all = await readPage(places, { accountId: "ac_1", limit: 100 });
    const found: string[] = [];
    let pages = 0;
    for (let beforeId: string | undefined, more = true; more && pages < 20; pages += 1) {
      let asked = 0;
      const query = { accountId: "ac_1", limit: 100, beforeId };
      const page = await readPage(places, query, () => (asked += 1) > 3);
      found.push(...page.records.map(({ id }) => id));
      ({ more } = page);
      beforeId = page.searchedTo === undefined ? undefined : firstIdAt("req_", page.searchedTo);
    }
    assert.ok(pages > 2, `${pages} pages`);
    assert.deepEqual(
      found,
      all.records.map(({ id }) => id),
    );
    assert.equal(found.length, numbers.length);
  });

  it("the store of captured requests is readable from another node, until that node goes away", async () => {
    const [here, there] = [start(), start()];
    for (const [at, { open }] of [here, there].entries()) {
      const store = open();
      for (let number = 1; number <= 400; number += 1) {
        if (number % 2 === at) storeRecord(store, record(number), rule);
        if (number % 100 === 0) store.flush();
      }
      store.close();
    }
    let answers = Infinity;
    const node: RecordingNode = {
      id: "nd_2",
      async ask(question) {
        answers -= 1;
        return answers < 0 ? undefined : await answerBlocks(there.directory, question);
      },
    };
    const read = async () => {
      const gaps: CaptureGap[] = [];
      const numbers: number[] = [];
      const options = { others: [node], gap: (gap: CaptureGap) => void gaps.push(gap) };
      for await (const { id } of readRecords(here.places, { accountId: "ac_1" }, options))
        numbers.push(Number(id.slice(4)));
      return { gaps, numbers };
    };
    const whole = await read();
    assert.deepEqual([whole.numbers.length, whole.gaps], [400, []]);
    assert.deepEqual(
      whole.numbers,
      whole.numbers.toSorted((one, other) => one - other),
    );
    answers = 1;
    const cut = await read();
    assert.deepEqual(
      [cut.numbers.length, cut.gaps.map(({ reason, nodeId }) => `${reason} ${nodeId}`)[0]],
      [200, "unreached nd_2"],
    );
    assert.equal(
      cut.gaps.reduce((sum, { records = 0 }) => sum + records, 0),
      200,
    );
    answers = 0;
    const lost = await read();
    assert.deepEqual([lost.numbers.length, lost.gaps.length, lost.gaps[0]?.records], [200, 1, undefined]);
  });

  it("P1: the store of captured requests gives another node nothing but blocks of segments", async () => {
    const { open, directory } = start();
    const store = open();
    storeRecord(store, record(1), rule);
    store.close();
    for (const [accountId, segment] of [
      ["ac_1", "../../keys"],
      ["../ac_1", "0000000001-1-1-0a.requests"],
    ] as const) {
      const blocks = [{ segment, offset: 0, length: 10 }];
      await assert.rejects(answerBlocks(directory, { want: "blocks", accountId, blocks }), /no segment|malformed/);
    }
    const huge = [{ segment: "0000000001-1-1-0a.requests", offset: 0, length: 1e9 }];
    await assert.rejects(answerBlocks(directory, { want: "blocks", accountId: "ac_1", blocks: huge }), /too long/);
  });

  it("the store of captured requests is readable in order of arrival, either way, by time and by filter", async () => {
    const { open, places } = start();
    const store = open();
    for (const number of [3, 1, 2]) storeRecord(store, record(number), rule);
    store.flush();
    for (const number of [6, 4, 5]) storeRecord(store, record(number), rule);
    store.flush();
    assert.deepEqual((await all(places)).ids, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual((await all(places, {}, true)).ids, [6, 5, 4, 3, 2, 1]);
    const base = 1_800_000_000_000;
    assert.deepEqual((await all(places, { since: base + 2, until: base + 5 })).ids, [2, 3, 4]);
    for (const filter of [{ path: "/a/1" }, { user: "ann@example.com" }, { user: "au_1" }, { text: "A/1 " }]) {
      assert.deepEqual((await all(places, { filter })).ids, [1], JSON.stringify(filter));
    }
    assert.equal((await all(places, { filter: { path: "/a*", module: "router", status: 200 } })).ids.length, 6);
    assert.deepEqual((await all(places, { filter: { outcome: "denied" } })).ids, []);
    store.close();
    assert.deepEqual((await all(places)).ids, [1, 2, 3, 4, 5, 6]);
  });

  it("S2: the store of captured requests is readable up to any byte at which its end was lost", async () => {
    const { open, places, files } = start();
    const store = open();
    for (let number = 1; number <= 3; number += 1) {
      storeRecord(store, record(number), rule);
      store.flush();
    }
    store.close();
    const [file = ""] = files();
    const whole = readFileSync(file);
    const counts = new Set<number>();
    for (let length = whole.length - 1; length >= 0; length -= 7) {
      truncateSync(file, length);
      const { ids } = await all(places);
      assert.deepEqual(ids, [1, 2, 3].slice(0, ids.length));
      counts.add(ids.length);
    }
    assert.equal(counts.size, 4);
    // A new start never writes into a file that a crash left.
    const again = open();
    storeRecord(again, record(9), rule);
    again.close();
    assert.equal(files().length, 2);
    assert.deepEqual((await all(places)).ids, [9]);
  });

  it("S2: the store of captured requests skips a damaged block and reports the gap", async () => {
    const { open, places, files } = start();
    const store = open();
    for (let number = 1; number <= 3; number += 1) {
      storeRecord(store, record(number), rule);
      store.flush();
    }
    const [file = ""] = files();
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 11) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ 0x55;
      writeFileSync(file, damaged);
      const { ids, gaps } = await all(places);
      assert.ok(ids.length === 2 || (ids.length === 3 && gaps.length === 0), `${at}: ${String(ids)}`);
      if (ids.length < 3 && ids.at(-1) === 3) assert.equal(gaps.at(-1)?.reason, "damaged");
    }
    writeFileSync(file, whole);
    appendFileSync(file, Buffer.alloc(100));
    assert.deepEqual((await all(places)).ids, [1, 2, 3]);
    store.close();
  });

  it("the store of captured requests starts a segment each hour and deletes those whose time is over", async () => {
    const { open, places, files, clock } = start();
    const store = open();
    storeRecord(store, record(1), { ...rule, hours: 1 });
    storeRecord(store, record(2), { ...rule, hours: 5 });
    clock.pass(1_000);
    for (let number = 3; number <= 6; number += 1) {
      clock.pass(hourMs);
      storeRecord(store, record(number), { ...rule, hours: 5 });
      clock.pass(1_000);
    }
    assert.deepEqual((await all(places)).ids, [2, 3, 4, 5, 6]);
    assert.equal(files().length, 5);
    store.close();
  });

  it("D9: the store of captured requests stays within its bound, and the largest account loses its oldest first", async () => {
    const { open, places, files, clock } = start({ maxBytes: 20_000 });
    const store = open();
    storeRecord(store, record(1, { accountId: "ac_2" }), { ...rule, hours: 720 });
    clock.pass(1_000);
    for (let number = 1; number <= 60; number += 1) {
      clock.pass(hourMs);
      storeRecord(store, record(number), { ...rule, hours: 720 });
      store.flush();
    }
    assert.ok(store.counts.bytes <= 20_000, String(store.counts.bytes));
    const { ids } = await all(places);
    assert.ok(ids.length > 2 && ids.length < 60);
    assert.deepEqual(
      ids,
      Array.from(ids, (_one, at) => 61 - ids.length + at),
    );
    assert.equal(files("ac_2").length, 1);
    store.close();
  });

  it("the store of captured requests survives a clock that jumps back and forth", async () => {
    const { open, places, clock } = start();
    const store = open();
    let now = clock.now();
    const jumping = { ...clock, now: () => now };
    store.close();
    const jumped = new CaptureStore({ ...places, maxBytes: 1e9, clock: jumping, log: logNothing });
    for (const [number, jump] of [0, -2 * hourMs, 3 * hourMs, -1].entries()) {
      now += jump;
      storeRecord(jumped, record(number + 1), rule);
      jumped.flush();
    }
    jumped.close();
    assert.deepEqual((await all(places)).ids, [1, 2, 3, 4]);
  });
});

const logNothing = makeLog({ level: "error", format: "text", now: () => 0, monotonic: () => 0, write: () => {} });
