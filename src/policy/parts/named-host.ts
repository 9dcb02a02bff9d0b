import type { Template } from "../language/template.ts";

/**
 * The host in a URL of a policy as steps show it. A path, a query, or a host that an expression makes may hold a
 * credential, and not everyone who reads steps may read the policy (control K4).
 */
export function namedHost({ source }: Template): string {
  const [, host = "a host from an expression"] = /^https?:\/\/([^\s/?#@${}]+)(?:[/?#]|$)/i.exec(source) ?? [];
  return host;
}
