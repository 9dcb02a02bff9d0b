/** What a client that is not a browser was granted with a login. Edges read it from the session. */

export interface Grant {
  /** Client id, or the digest of a long one. */
  readonly client: string;
  /** Name of the client, which it chose itself. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** The route or the host that accepts the token. */
  readonly audience: string;
  /** When the access token was issued, milliseconds since 1970; 0 before the first one. */
  readonly issuedAt: number;
}

/** A grant before the person has confirmed it, with the provider's limit of the login; 0 if there is none. */
export function makePendingGrant(latest: number): Grant & { readonly stage: "pending"; readonly latest: number } {
  return { client: "", name: "", scopes: [], audience: "", issuedAt: 0, stage: "pending", latest };
}

/** @param text "" for a browser's session */
export function grantOf(text: string | undefined): Grant | undefined {
  if (text === undefined || text === "") return undefined;
  const { client, name, scopes, audience, issuedAt } = JSON.parse(text) as Grant;
  return { client, name, scopes, audience, issuedAt };
}
