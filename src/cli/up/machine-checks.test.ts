import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkClock, checkDisk, checkOpenFiles } from "./machine-checks.ts";

const limits = (hard: string): string =>
  `Limit Soft Limit Hard Limit Units\nMax open files            1024                 ${hard}              files\n`;

describe("the checks of postern up", () => {
  it("the check of the disk refuses less than 1 GB and warns below 5 GB", () => {
    const judged = [0.9e9, 1e9, 4.9e9, 5e9].map((free) => checkDisk("/no/such/folder", () => free));
    assert.deepEqual(
      judged.map(({ outcome }) => outcome),
      ["wrong", "warning", "warning", "fine"],
    );
    // The data directory does not exist yet, so the check is about the file system that will contain it.
    assert.equal(judged[0]?.about, "disk at /");
    assert.match(judged[0]?.message ?? "", /^0\.9 GB free: free at least 1 GB$/);
  });

  it("the check of open files reads the hard limit, and passes over a system without one", () => {
    const judged = ["1024", "4096", "65535", "65536", "unlimited"].map((hard) => checkOpenFiles(limits(hard)));
    assert.deepEqual(
      judged.map((finding) => finding?.outcome),
      ["wrong", "warning", "warning", "fine", "fine"],
    );
    assert.match(judged[0]?.message ?? "", /at most 1024: raise the limit to 65536/);
    assert.equal(checkOpenFiles(""), undefined);
  });

  it("the check of the clock refuses one that is more than a minute ahead or behind", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    const judged = [0, 60_000, -60_000, 61_000, -3_600_000].map((skew) => checkClock(now - skew, now));
    assert.deepEqual(
      judged.map(({ outcome }) => outcome),
      ["fine", "fine", "fine", "wrong", "wrong"],
    );
    assert.match(judged[3]?.message ?? "", /is 61 s ahead.*timedatectl set-ntp true/);
    assert.match(judged[4]?.message ?? "", /is 3600 s behind/);
  });
});
