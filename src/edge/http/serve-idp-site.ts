import type { Logins } from "../../identity/login-engine.ts";
import { passStep } from "../../traffic/step.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled-site.ts";

/**
 * Returns the host to which logins return, as a site with one route that answers everything. It belongs to no account.
 */
export function idpSite({ settings, idp }: Pick<Logins, "settings" | "idp">, advertisedPort: () => number): Site {
  const route: CompiledRoute = Object.freeze({
    id: "logins",
    revision: 0,
    mark: 0,
    matched: passStep("router", "the login host"),
    problem: undefined,
    request: [idp],
    response: [],
    settled: [],
    upstream: undefined,
  });
  return Object.freeze({
    kind: "endpoint" as const,
    id: "logins",
    accountId: "",
    revision: 0,
    hosts: Object.freeze([settings.idpHost]),
    handshake: Object.freeze({}),
    problem: undefined,
    findRoute: () => route,
    advertises: (_host: string, port: number) => port === advertisedPort(),
  });
}
