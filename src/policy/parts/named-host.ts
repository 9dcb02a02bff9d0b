import type { Template } from "../language/template.ts";

/**
 * Returns the host in a URL of a policy, for steps. A path, a query, or a host from an expression may contain a
 * credential, and not every reader of steps may read the policy (control K4).
 */
export function nameHost({ source }: Template): string {
  const [, host = "a host from an expression"] = /^https?:\/\/([^\s/?#@${}]+)(?:[/?#]|$)/i.exec(source) ?? [];
  return host;
}
