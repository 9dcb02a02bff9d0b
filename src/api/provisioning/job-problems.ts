/** Reports domains whose certificate could not be obtained among the server's problems. Every node reads the stored jobs. */
import { certificateJob } from "../../resources/certificate-job.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { docOf } from "../../schema/doc.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import type { Store, StoredObject } from "../../storage/store.ts";

const kinds: ReadonlySet<string> = new Set([certificateJob.name]);

/** @param tell reports a problem; without a message, it is over */
export function reportJobs(store: Pick<Store, "objects" | "subscribe">, tell: (problem: Problem) => void): void {
  const report = (job: StoredObject, isOver: boolean): void => {
    const { reserved_domain_id: id, error_code: code, msg } = docOf(job, certificateJob);
    const message = isOver || code === null ? undefined : `no certificate (${code}): ${msg}`;
    tell({ kind: reservedDomain.name, id: String(id), accountId: job.account_id, module: undefined, message });
  };
  for (const job of store.objects(kinds)) if (docOf(job, certificateJob).error_code !== null) report(job, false);
  store.subscribe(({ changes }) => {
    for (const { kind, before, after } of changes) {
      if (kind !== certificateJob.name) continue;
      const had = before && docOf(before, certificateJob).error_code;
      const has = after && docOf(after, certificateJob).error_code;
      if (after && has !== null) report(after, false);
      else if (before && had !== null) report(before, true);
    }
  });
}
