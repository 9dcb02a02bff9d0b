/**
 * Creates the login host as a domain of the first account, so that its certificate is obtained, renewed and shown like
 * any other. This requires that the operator accepted the authority's terms. Without them, the operator uploads a
 * certificate for the domain, or visitors get a certificate from the server's own CA.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { idpHostOf } from "../../lib/server-names.ts";
import type { ServerNames } from "../../lib/server-names.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface IdpDomainOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly names: ServerNames;
  /** Whether the operator accepted the authority's terms. */
  readonly agreed: boolean;
}

/** Names for which no public authority issues certificates (RFC 6761, RFC 9476). */
const local = /(?:^|\.)(?:localhost|local|test|invalid|internal|alt)$/;

/** Runs once at the start. Later changes by the operator are preserved. */
export async function keepIdpDomain({ store, clock, log, names, agreed }: IdpDomainOptions): Promise<void> {
  const domain = idpHostOf(names);
  const [owner] = store.accounts();
  if (!agreed || !owner || local.test(domain)) return;
  const holder = store.holder(owner.id, "domain", domain);
  if (holder) {
    if (holder.account_id !== owner.id) {
      log.warn("another account has reserved the login host, so it has no separate certificate", { domain });
    }
    return;
  }
  try {
    await store.write(systemWrite(owner.id, "reserveLoginHost", clock), (draft) => {
      // Another node may have created the domain first.
      if (draft.holder(owner.id, "domain", domain)) return;
      draft.create(owner.id, reservedDomain.name, {
        ...emptyDoc(reservedDomain.fields),
        domain,
        description: "Host to which logins return; owned by the server.",
        certificate_management_policy: { authority: "letsencrypt", private_key_type: "ecdsa" },
      });
    });
  } catch (error) {
    // The server runs without the domain (S3). The next start retries.
    log.warn("the login host has no domain for a certificate", { domain, error });
  }
}
