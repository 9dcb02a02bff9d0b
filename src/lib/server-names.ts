/** Host names reserved for the server, now or later. No account can hold them, whatever the configuration. */

export interface ServerNames {
  /** Base of the server's names, lower case. */
  readonly domain: string;
  /** Host of login callbacks for every account, as configured by the operator. Default: `idp.` and the domain. */
  readonly idpHost?: string | undefined;
}

/** Returns the host of login callbacks for every account (SAML endpoints, OAuth callbacks). */
export function idpHostOf({ domain, idpHost }: ServerNames): string {
  return idpHost ?? `idp.${domain}`;
}

/** Returns the base of the URLs there, without a slash at its end. @param httpsPort the port of HTTPS in public URLs */
export function idpUrl(names: ServerNames, httpsPort: number): string {
  return `https://${idpHostOf(names)}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}

/** @throws Error if the login host would reserve names that the domain is for */
export function checkServerNames(names: ServerNames): void {
  const idp = idpHostOf(names);
  if (names.domain !== idp && !names.domain.endsWith(`.${idp}`)) return;
  throw new Error(`set --idp-host "${idp}": it must not be the domain "${names.domain}" or above it`);
}

/**
 * Whether `name`, a host or `*.` and one in lower case, is a name of the server or covers one. Names below the login
 * host count as well: a page there could set cookies for it.
 */
export function isServerName(name: string, names: ServerNames): boolean {
  const { domain } = names;
  const idp = idpHostOf(names);
  const bare = name.startsWith("*.") ? name.slice(2) : name;
  if (bare === idp || bare.endsWith(`.${idp}`)) return true;
  if (bare === name) return name === domain;
  return [domain, idp].some((own) => own.endsWith(`.${bare}`));
}
