/** Waits until the login host has its certificate, which is the first one that a new server obtains. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Postern, ReservedDomain } from "../../../sdk/src/index.ts";
import type { Finding } from "../doctor/finding.ts";

const intervalMs = 1_000;
/** The server retries a failed attempt after some minutes, so waiting longer than this rarely helps. */
const patienceMs = 180_000;

/** @param progress called with a sentence when the state changes */
export async function waitForCertificate(
  api: Postern,
  host: string,
  progress: (line: string) => void,
): Promise<Finding> {
  const about = `certificate of ${host}`;
  const endsAt = performance.now() + patienceMs;
  let shown = "";
  for (;;) {
    const domain = await findDomain(api, host);
    if (!domain) {
      const message = "no public authority issues certificates for this name: use a public domain";
      return { outcome: "wrong", about, message };
    }
    const status = domain.certificate_management_status;
    const job = status?.provisioning_job;
    if (domain.certificate && !job) return { outcome: "fine", about, message: "is in use" };
    const state = job?.error_code ? `${job.msg} (${job.error_code})` : "requested from the authority";
    if (state !== shown) progress(`${about}: ${state}`);
    shown = state;
    if (job?.error_code) return { outcome: "wrong", about, message: `the authority refused it: ${state}` };
    if (performance.now() > endsAt)
      return { outcome: "wrong", about, message: "did not arrive within 3 minutes: run the command again later" };
    await sleep(intervalMs);
  }
}

async function findDomain(api: Postern, host: string): Promise<ReservedDomain | undefined> {
  for await (const one of api.reservedDomains.list()) if (one.domain === host) return one;
  return undefined;
}
