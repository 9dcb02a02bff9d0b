/** Host names that the server itself answers at, or will: nobody else has them, whatever is configured. */

/** Where logins of every account come back to (SAML endpoints, OAuth callbacks). */
export function idpHost(domain: string): string {
  return `idp.${domain}`;
}

/** Base of the URLs there, without a slash at its end. @param httpsPort the port of HTTPS in public URLs */
export function idpUrl(domain: string, httpsPort: number): string {
  return `https://${idpHost(domain)}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}

/** The one list of them. @param domain base of the server's names, lower case */
export function serverNames(domain: string): readonly string[] {
  return [domain, idpHost(domain)];
}

/**
 * Whether `name`, a host or `*.` and one in lower case, is the server's own or would cover such a name. What is
 * below the host of logins counts as well: a page there could set cookies for it.
 */
export function isServerName(name: string, domain: string): boolean {
  const idp = idpHost(domain);
  const bare = name.startsWith("*.") ? name.slice(2) : name;
  if (bare === idp || bare.endsWith(`.${idp}`)) return true;
  if (bare === name) return name === domain;
  return serverNames(domain).some((own) => own.endsWith(`.${bare}`));
}
