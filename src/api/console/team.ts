import type { People } from "./admitted-people.ts";
import type { TeamChecks } from "./team-checks.ts";
import type { TeamLogin } from "./team-login.ts";

/** The team's identity provider, and the rules for its users. */
export interface Team {
  readonly login: TeamLogin;
  readonly people: People;
  readonly checks: TeamChecks;
}
