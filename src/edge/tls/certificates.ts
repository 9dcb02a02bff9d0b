import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import { makeOwnCertificates } from "./own-certificates.ts";
import type { ServerCertificate } from "./server-certificate.ts";
import { makeUploadedCertificates } from "./uploaded-certificates.ts";
import type { UploadedCertificates } from "./uploaded-certificates.ts";

/** The parts of a site that determine its certificate. */
type NamedSite = Pick<Site, "accountId" | "hosts">;

/** Chooses the certificate for a server name. */
export interface Certificates {
  readonly uploaded: UploadedCertificates;
  /**
   * Returns the certificate of a site: the one that its account uploaded, otherwise the server account's for names under
   * the server's domain, otherwise one from the server's own authority. For a name without a site, returns one of the
   * server if the name is under the server's domain or "" (no server name). Returns undefined otherwise, and if the rate limit is exceeded. Returns a promise only if a
   * certificate must be issued first.
   */
  choose(host: string, site: NamedSite | undefined): ServerCertificate | Promise<ServerCertificate> | undefined;
  /** See `OwnCertificates`. */
  replaceAuthority(authority: KeyedCertificate): void;
}

export interface CertificatesOptions {
  readonly authority: KeyedCertificate;
  /** Lower case. Names under it belong to the server. */
  readonly domain: string;
  /** Returns the account whose certificates the server's own sites use. Undefined while it is unknown. */
  readonly serverAccount: () => string | undefined;
  /** Maximum number of cached certificates of the server's own authority. */
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
    // Clients reject a wildcard directly under a top-level name, such as *.localhost.
    if (isNested || !domain.includes(".")) return [host === "" ? domain : host];
    return [`*.${domain}`, domain];
  };
  /** The server gets a wildcard certificate for its domain, which serves every account's names there. */
  const ofServer = (host: string): ServerCertificate | undefined => {
    const account = host.endsWith(`.${domain}`) ? serverAccount() : undefined;
    return account === undefined ? undefined : uploaded.find(account, host, clock.now());
  };
  return {
    uploaded,
    replaceAuthority: (other) => own.replaceAuthority(other),
    choose(host, site) {
      if (!site) {
        const names = strangerNames(host);
        return names && (ofServer(host) ?? own.forStranger(names));
      }
      const given = uploaded.find(site.accountId || (serverAccount() ?? ""), host, clock.now()) ?? ofServer(host);
      if (given) return given;
      const name = siteName(host, site);
      return site.hosts.includes(name) ? own.forListed([name]) : own.forCovered([name]);
    },
  };
}

/**
 * Returns the site's own name only. With a certificate for several sites, a browser would use one connection for all of
 * them and get misdirected errors.
 */
function siteName(host: string, site: NamedSite): string {
  const parent = host.slice(host.indexOf(".") + 1);
  const wildcard = `*.${parent}`;
  return parent.includes(".") && !site.hosts.includes(host) && site.hosts.includes(wildcard) ? wildcard : host;
}
