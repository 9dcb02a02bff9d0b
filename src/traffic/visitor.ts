/** A valid login, as policy rules read it. */
export interface VisitorSession {
  /** Public ids of the session and its user. */
  readonly id: string;
  readonly userId: string;
  /** Tokens from the provider; each is "" unless the service may receive it. */
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
  /** Milliseconds since 1970. */
  readonly loginAt: number;
  readonly checkedAt: number;
  /** When the session ends without further use, milliseconds since 1970. */
  readonly endsAt: number;
}

/** The logged-in visitor, as far as variables and reports need it. */
export interface Visitor {
  readonly module: string;
  readonly clientId: string;
  readonly subject: string;
  readonly email: string;
  /** Whether the provider has verified the address. */
  readonly emailVerified: boolean;
  readonly name: string;
  /** Teams, organizations or groups. Present like `session`, if a policy rule requires the login. */
  readonly groups?: readonly string[];
  readonly session?: VisitorSession | undefined;
}

/** A visitor described for a dry run, with the provider's data. */
export interface DescribedVisitor {
  readonly email: string;
  readonly emailVerified: boolean;
  /** Id at the provider. */
  readonly id: string;
  readonly name: string;
  /** Teams, organizations or groups. */
  readonly groups: readonly string[];
}

/** Alternating names and values. */
export type LoginCookies = readonly string[];
