import type { Tokens } from "../../identity/calls/provider-connection.ts";
import type { Person } from "./admitted-people.ts";

/** The user who logged in, and the tokens for further checks. */
export interface TeamVisit {
  readonly person: Person;
  readonly tokens: Tokens;
  /** When the provider confirmed the user, milliseconds since 1970. Default: now. */
  readonly checkedAt?: number;
  /** Latest end of the session, milliseconds since 1970. */
  readonly endsAt?: number;
}
