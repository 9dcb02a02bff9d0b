import { agentErrors } from "./errors/agents.ts";
import { apiErrors } from "./errors/api.ts";
import { commandErrors } from "./errors/commands.ts";
import { configurationErrors } from "./errors/configuration.ts";
import type { CatalogueEntry } from "./errors/entry.ts";
import { localApiErrors } from "./errors/local-api.ts";
import { loginErrors } from "./errors/logins.ts";
import { policyActionErrors } from "./errors/policy-actions.ts";
import { policyErrors } from "./errors/policies.ts";
import { trafficErrors } from "./errors/traffic.ts";

/**
 * The single catalogue of refusals: every error for a client, a visitor or an agent. `number` is its public code
 * `ERR_POSTERN_<number>`; numbers are never reused. The error reference is generated from this table.
 */
export const catalogue = {
  ...apiErrors,
  ...configurationErrors,
  ...policyErrors,
  ...policyActionErrors,
  ...agentErrors,
  ...trafficErrors,
  ...loginErrors,
  ...localApiErrors,
  ...commandErrors,
} satisfies Record<string, CatalogueEntry>;

export type RefusalName = keyof typeof catalogue;

/** A refusal to a client. It is not a bug: one place per boundary renders it, and it is never logged as an error. */
export class Refusal extends Error {
  readonly reason: RefusalName;
  /** More data, by name; for invalid input one entry per field path. Never contains a credential. */
  readonly details: Readonly<Record<string, string>>;

  /** @param message the attempted operation and the present value. Default: the catalogue's sentence */
  constructor(reason: RefusalName, message?: string, details: Readonly<Record<string, string>> = {}) {
    super(message ?? catalogue[reason].what);
    this.reason = reason;
    this.details = details;
  }

  get status(): number {
    return catalogue[this.reason].status;
  }

  get code(): string {
    return errorCode(this.reason);
  }
}

/** Returns the problem that a code of the catalogue stands for; undefined for any other code. */
export function describeCode(code: string): string | undefined {
  return Object.values(catalogue).find(({ number }) => code === `ERR_POSTERN_${number}`)?.what;
}

/** Returns the fix for a code of the catalogue; undefined for any other code. */
export function fixOf(code: string): string | undefined {
  return Object.values(catalogue).find(({ number }) => code === `ERR_POSTERN_${number}`)?.fix;
}

export function errorCode(reason: RefusalName): string {
  return `ERR_POSTERN_${catalogue[reason].number}`;
}
