import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Site } from "../../routing/sites/compiled.ts";
import { makeOwnCertificates } from "./own-certificates.ts";
import type { ServerCertificate } from "./server-certificate.ts";
import { makeUploadedCertificates } from "./uploaded-certificates.ts";
import type { UploadedCertificates } from "./uploaded-certificates.ts";

/** What of a site its certificate depends on. */
type Named = Pick<Site, "accountId" | "hosts">;

/** Which certificate is shown for which server name. */
export interface Certificates {
  readonly uploaded: UploadedCertificates;
  /**
   * For a site: the one that its account uploaded, else one from the server's own authority. For a name without
   * a site: one from the authority when the name is under the server's domain, or "" (the client named none);
   * undefined otherwise, and when too many were asked for of late. A promise only where one has to be made first.
   */
  choose(host: string, site: Named | undefined): ServerCertificate | Promise<ServerCertificate> | undefined;
  /** See `OwnCertificates`. */
  replaceAuthority(authority: KeyedCertificate): void;
}

export interface CertificatesOptions {
  readonly authority: KeyedCertificate;
  /** Lower case; names under it are the server's own. */
  readonly domain: string;
  /** The account that certificates for the server's own sites are looked for in; undefined while it is not known. */
  readonly serverAccount: () => string | undefined;
  /** Of the server's own authority, that are kept. */
  readonly maxLeaves: number;
  readonly clock: Clock;
  readonly log: Log;
}

export function makeCertificates(options: CertificatesOptions): Certificates {
  const { authority, domain, serverAccount, maxLeaves, clock, log } = options;
  const uploaded = makeUploadedCertificates(log);
  const own = makeOwnCertificates(authority, maxLeaves, clock, log);
  const strangerNames = (host: string): readonly string[] | undefined => {
    if (host !== "" && host !== domain && !host.endsWith(`.${domain}`)) return undefined;
    const isNested = host.slice(0, -domain.length - 1).includes(".");
    // clients do not take a wildcard directly under a top-level name, such as *.localhost
    if (isNested || !domain.includes(".")) return [host === "" ? domain : host];
    return [`*.${domain}`, domain];
  };
  return {
    uploaded,
    replaceAuthority: (other) => own.replaceAuthority(other),
    choose(host, site) {
      if (!site) {
        const names = strangerNames(host);
        return names && own.forStranger(names);
      }
      const given = uploaded.find(site.accountId || (serverAccount() ?? ""), host, clock.now());
      if (given) return given;
      const name = siteName(host, site);
      return site.hosts.includes(name) ? own.forListed([name]) : own.forCovered([name]);
    },
  };
}

/**
 * A site's own name and never more: with a certificate for several sites a browser would use one connection for
 * all of them and be told that it is misdirected.
 */
function siteName(host: string, site: Named): string {
  const parent = host.slice(host.indexOf(".") + 1);
  const wildcard = `*.${parent}`;
  return parent.includes(".") && !site.hosts.includes(host) && site.hosts.includes(wildcard) ? wildcard : host;
}
