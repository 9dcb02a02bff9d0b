/**
 * The login host as a domain of the first account, so that its certificate is obtained, renewed and shown like any
 * other's. It is made where the authority's terms are agreed to: otherwise the operator uploads a certificate there, or
 * visitors see one of the server's own authority.
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
  /** The terms of the authority. */
  readonly agreed: boolean;
}

/** Names that no public authority issues for (RFC 6761, RFC 9476). */
const local = /(?:^|\.)(?:localhost|local|test|invalid|internal|alt)$/;

/** Once at the start: what the operator does with it afterwards stays. */
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
      // Another node may have been first.
      if (draft.holder(owner.id, "domain", domain)) return;
      draft.create(owner.id, reservedDomain.name, {
        ...emptyDoc(reservedDomain.fields),
        domain,
        description: "Host to which logins return; owned by the server.",
        certificate_management_policy: { authority: "letsencrypt", private_key_type: "ecdsa" },
      });
    });
  } catch (error) {
    // It serves nonetheless (S3): the next start tries again.
    log.warn("the login host has no domain for a certificate", { domain, error });
  }
}
