import type { MachineClients } from "../../traffic/machine-clients.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { FixedAnswer } from "../../traffic/step.ts";
import type { LoginRefusalName } from "../calls/identity.ts";
import type { LoginMethod } from "../methods/method.ts";
import type { Realm } from "../browser/realm.ts";
import type { Lists } from "../sessions/login-verdict.ts";

/** A guard, as far as the steps of its logins need it. */
export interface LoginGate {
  readonly options: GuardOptions;
  /** The page for a refused visitor. */
  refusal(exchange: Exchange, errorName: LoginRefusalName, signedInAs?: string, back?: string): FixedAnswer;
}

export interface GuardOptions {
  readonly method: LoginMethod;
  readonly realm: Realm;
  readonly lists: Lists;
  readonly accountId: string;
  readonly siteId: string;
  /** Id of the route, or of an agent's endpoint. */
  readonly ownerId: string;
  /** The owner is an agent's endpoint, whose id changes with each connection while visitors see the same place. */
  readonly isAgents?: boolean;
  readonly revision: number;
  /** For a policy rule, "" if it names none; undefined for a module. */
  readonly authId: string | undefined;
  readonly optionsPassthrough: boolean;
  /** Seconds; 0 means never. */
  readonly inactivityTimeout: number;
  readonly maximumDuration: number;
  readonly checkInterval: number;
  /** Clients that are not browsers; absent if only browsers are admitted. */
  readonly machines?: MachineClients | undefined;
}
