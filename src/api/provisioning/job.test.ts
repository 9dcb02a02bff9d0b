import assert from "node:assert/strict";
import { it } from "node:test";
import { formatTimestamp } from "../../lib/clock.ts";
import { certificateJob } from "../../resources/certificate-job.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { isDue } from "./job.ts";
import { hourMs } from "../../lib/durations.ts";

const now = Date.UTC(2026, 0, 2);
const domain = { id: "rd_1", account_id: "ac_1", kind: "reserved_domain", doc: { certificate_id: null } };

/** Returns a domain without a certificate. Its attempt began and failed at that time, with a pause of an hour. */
function reader(startedMs: number): Reader {
  const times = { started_at: formatTimestamp(startedMs), retries_at: formatTimestamp(startedMs + hourMs) };
  const doc = { ...emptyDoc(certificateJob.fields), reserved_domain_id: domain.id, failures: 3, ...times };
  return {
    children: () => [{ id: "cj_1", account_id: "ac_1", kind: certificateJob.name, doc }],
    get: () => undefined,
  } as unknown as Reader;
}

for (const [name, wrongMs, isRetried] of [
  ["right", 0, false],
  ["an hour ahead", hourMs, true],
  ["400 days ahead", 400 * 24 * hourMs, true],
  ["an hour behind", -hourMs, true],
] as const) {
  it(`S7: a certificate whose attempt failed under a clock that was ${name} is ${isRetried ? "" : "not "}retried after the clock is corrected`, () => {
    assert.equal(isDue(reader(now - 1000 + wrongMs), domain as unknown as StoredObject, now), isRetried);
  });
}
