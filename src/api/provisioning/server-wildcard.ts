/**
 * One certificate for all names of the server's domain: `*.` and the domain, as a domain of the first account. Unlike
 * other reserved domains it holds no names, so every account uses names below the domain as before.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { reservedDomain, serverCertificateSpace } from "../../resources/reserved-domain.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface ServerWildcardOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly domain: string;
}

/** Runs once at the start, if the operator has accepted the terms and set a DNS provider. Changes are preserved. */
export async function keepServerWildcard({ store, clock, log, domain }: ServerWildcardOptions): Promise<void> {
  const [owner] = store.accounts();
  const name = `*.${domain}`;
  // Authorities issue nothing directly below a top-level name.
  if (!owner || !domain.includes(".") || store.holder(owner.id, serverCertificateSpace, name)) return;
  try {
    await store.write(systemWrite(owner.id, "reserveServerWildcard", clock), (draft) => {
      // Another node may have created it first.
      if (draft.holder(owner.id, serverCertificateSpace, name)) return;
      draft.create(owner.id, reservedDomain.name, {
        ...emptyDoc(reservedDomain.fields),
        domain: name,
        description: "Certificate for all names of the server's domain; owned by the server.",
        certificate_management_policy: { authority: "letsencrypt", private_key_type: "ecdsa" },
        certificate_only: true,
      });
    });
  } catch (error) {
    // The server runs without it (S3). The next start retries.
    log.warn("the server's domain has no wildcard for a certificate", { domain, error });
  }
}
