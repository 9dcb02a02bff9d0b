import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readRecords } from "../../src/capture/store/read-records.ts";
import type { CaptureGap } from "../../src/routing/planes/captured-blocks.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const writer = new URL("../support/capture-writer.ts", import.meta.url);
const keys = [{ id: "0a", key: Buffer.alloc(32, 7) }];
const directories: string[] = [];

const answering = "on_http_request: [{ actions: [{ type: custom-response, config: { status_code: 200, body: a } }] }]";
type Found = readonly { readonly captured: boolean; readonly path: string }[];

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), "capture-faults-"));
  directories.push(made);
  return made;
}

after(() => {
  for (const one of directories) rmSync(one, { recursive: true, force: true });
});

async function readable(place: string) {
  const gaps: CaptureGap[] = [];
  const ids: number[] = [];
  const gap = (one: CaptureGap) => void gaps.push(one);
  for await (const { id } of readRecords({ directory: place, keys }, { accountId: "ac_1" }, { gap }))
    ids.push(Number(id.slice(4)));
  return { ids, gaps };
}

describe("captured requests on the disk", () => {
  it("S2: captured requests are readable up to the last flush after kill -9 at any moment, and after the next start", async () => {
    const place = directory();
    let least = 0;
    for (let run = 0; run < 12; run += 1) {
      const child = spawn(process.execPath, [writer.pathname, place, String(run * 1_000_000)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let flushed = -1;
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        flushed = Number(text.trim().split("\n").at(-1));
        if (flushed % 1_000_000 > 40 * (run + 1)) child.kill("SIGKILL");
      });
      await once(child, "exit");
      const { ids, gaps } = await readable(place);
      assert.deepEqual(gaps, []);
      const ofRun = ids.filter((id) => id >= run * 1_000_000);
      assert.ok(ofRun.length > 0 && (ofRun.at(-1) as number) >= flushed, `${ofRun.at(-1)} of ${flushed}`);
      assert.deepEqual(
        ofRun,
        Array.from(ofRun, (_id, at) => run * 1_000_000 + at),
      );
      assert.ok(ids.length > least);
      least = ids.length;
    }
  });

  it("S3: captured requests are lost and counted while the disk is full, and written again afterwards, with the gap reported", async () => {
    const place = directory();
    const { status, stdout, stderr } = spawnSync(
      "bash",
      ["-c", `ulimit -f 16; exec "$0" "$@"`, process.execPath, writer.pathname, place, "0", "full"],
      { encoding: "utf8" },
    );
    assert.equal(status, 0, stderr);
    const { written, lost } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { written: number; lost: number };
    assert.ok(lost > 0);
    const { ids, gaps } = await readable(place);
    assert.equal(ids.length, written);
    const told = gaps.filter(({ reason }) => reason === "dropped").reduce((sum, { records = 0 }) => sum + records, 0);
    assert.ok(told <= lost);
    assert.deepEqual(ids.slice(0, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("S3: captured requests leave traffic unharmed when their folder is removed, and are written again", async () => {
    const platform = await startPlatform({ captureRequests: true });
    try {
      const folder = join(platform.directory, "capture");
      const policy =
        "on_http_request: [{ actions: [{ type: custom-response, config: { status_code: 200, body: a } }] }]";
      await platform.api("POST", "/endpoints", {
        url: "https://a.capture.test",
        type: "cloud",
        traffic_policy: policy,
      });
      await platform.request("https://a.capture.test/first");
      const [account = ""] = await eventually(
        () => (mkdirSync(folder, { recursive: true }), readdirSync(folder)),
        (entries) => entries.length > 0,
      );
      rmSync(join(folder, account), { recursive: true });
      for (let count = 0; count < 50; count += 1) {
        assert.equal((await platform.request("https://a.capture.test/later")).status, 200);
      }
      const again = await eventually(
        async () => {
          await platform.request("https://a.capture.test/again");
          return (await platform.api("GET", "/requests?path=/again")).body.requests as Found;
        },
        (list) => list.some(({ captured }) => captured),
      );
      assert.ok(again.length > 0);
    } finally {
      await platform.stop();
    }
  });

  for (const [where, options, count] of [
    ["edge", { edges: 2 }, 1],
    ["node", {}, databases.length > 1 ? 2 : 1],
  ] as const) {
    it(`captured requests are found regardless of the ${where} that served them`, async () => {
      const platform = await startPlatform({ captureRequests: true, ...options }, count);
      try {
        const traffic_policy = answering;
        await platform.api("POST", "/endpoints", { url: "https://b.capture.test", type: "cloud", traffic_policy });
        for (let sent = 0; sent < 20; sent += 1) await platform.request(`https://b.capture.test/n${sent}`);
        const found = await eventually(
          async () => (await platform.api("GET", "/requests?path=/n*")).body.requests as Found,
          (list) => list.length === 20 && list.every(({ captured }) => captured),
        );
        assert.equal(new Set(found.map(({ path }) => path)).size, 20);
      } finally {
        await platform.stop();
      }
    });
  }
});
