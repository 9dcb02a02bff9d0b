import assert from "node:assert/strict";
import { it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { Superseded } from "../database/database.ts";
import { Availability } from "./availability.ts";
import { SharedCommits } from "./shared-commits.ts";
import type { SharedCommitsOptions } from "./shared-commits.ts";

it("S4: a node that lost its lease while writes failed tries again until it has a new one", async () => {
  const clock = makeManualClock();
  let hasLease = false;
  let tried: Promise<void> | undefined;
  const tryWrite = (): void => {
    tried = commits.probe().catch((error: unknown) => availability.fails(error, false, 0));
  };
  const availability = new Availability({ clock, log: silentLog, tryWrite });
  const commits = new SharedCommits({
    database: { store: () => (hasLease ? Promise.resolve() : Promise.reject(new Superseded("another holder"))) },
    lease: { fence: () => ({ node: "nd_1", epoch: 1 }) },
    follower: { head: { holder: "nd_1" } },
    availability,
  } as unknown as SharedCommitsOptions);

  availability.fails(new Error("the database does not answer"), true, 0);
  clock.pass(1_000);
  await tried;
  assert.equal(availability.condition, "unavailable");
  hasLease = true;
  clock.pass(10_000);
  await tried;
  assert.equal(availability.condition, "open");
});
