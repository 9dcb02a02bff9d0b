/** The server's description of the policy language, loaded when the first policy is edited. */
import type { PolicyLanguage } from "../../../../sdk/src/index.ts";
import { postern } from "../api.ts";

export type Protocol = "http" | "tls" | "tcp";

let loading: Promise<PolicyLanguage> | undefined;

export function policyLanguage(): Promise<PolicyLanguage> {
  loading ??= postern.policies.language.get().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}
