/** Host names that the server itself answers at, or will: nobody else has them, whatever is configured. */

export interface ServerNames {
  /** Base of the server's names, lower case. */
  readonly domain: string;
  /** Where logins of every account come back to, as the operator has set it; `idp.` and the domain unless given. */
  readonly idpHost?: string | undefined;
}

/** Where logins of every account come back to (SAML endpoints, OAuth callbacks). */
export function idpHostOf({ domain, idpHost }: ServerNames): string {
  return idpHost ?? `idp.${domain}`;
}

/** Base of the URLs there, without a slash at its end. @param httpsPort the port of HTTPS in public URLs */
export function idpUrl(names: ServerNames, httpsPort: number): string {
  return `https://${idpHostOf(names)}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
}

/** @throws Error when the login host would take names away that the domain is for */
export function checkServerNames(names: ServerNames): void {
  const idp = idpHostOf(names);
  if (names.domain !== idp && !names.domain.endsWith(`.${idp}`)) return;
  throw new Error(`set --idp-host "${idp}": it must not be the domain "${names.domain}" or above it`);
}

/**
 * Whether `name`, a host or `*.` and one in lower case, is the server's own or would cover such a name. What is
 * below the login host counts as well: a page there could set cookies for it.
 */
export function isServerName(name: string, names: ServerNames): boolean {
  const { domain } = names;
  const idp = idpHostOf(names);
  const bare = name.startsWith("*.") ? name.slice(2) : name;
  if (bare === idp || bare.endsWith(`.${idp}`)) return true;
  if (bare === name) return name === domain;
  return [domain, idp].some((own) => own.endsWith(`.${bare}`));
}
