/** Metadata of a protected resource (RFC 9728), from which a client learns where it gets tokens. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { resourceMetadataPath, resourcePath } from "../guard/bearer.ts";
import type { LoginContext, LoginRoute, LoginSite } from "../guard/login-context.ts";
import type { Guard } from "../guard/login-guard.ts";
import { issuerOf } from "../machines/issuer.ts";
import { originOf } from "../browser/login-settings.ts";
import { choicesAt } from "./choices.ts";
import { guardsIn } from "./finish.ts";

/** Fields of answers that clients in browsers may read from any origin. None of them depends on a person. */
export const openToBrowsers = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, POST, OPTIONS",
  "access-control-allow-headers": "authorization, content-type, mcp-protocol-version",
  "access-control-max-age": "86400",
  "x-content-type-options": "nosniff",
} as const;

/** Returns the login at a path that gives tokens to clients, with its route. */
export function machineLoginAt(
  site: LoginSite,
  host: string,
  path: string,
): { readonly guard: Guard; readonly route: LoginRoute } | undefined {
  for (const one of site.members ?? [site]) {
    const route = one.findRoute(path, host);
    const guard = guardsIn(route).find(({ options }) => options.machines !== undefined);
    if (route && guard) return { guard, route };
  }
  return undefined;
}

/** @param path of the request; its part after the well-known prefix is the path of the resource */
export function findResource(
  path: string,
  host: string,
  site: LoginSite,
  context: LoginContext,
): ((exchange: Exchange) => Step) | undefined {
  if (!path.startsWith(resourceMetadataPath)) return undefined;
  const given = path.slice(resourceMetadataPath.length);
  if (given !== "" && given !== "/" && resourcePath(given) !== given) return undefined;
  const asked = given === "" ? "/" : given;
  const found = machineLoginAt(site, host, asked)?.guard;
  // Clients that do not read the challenge ask for the whole host.
  const only = found === undefined && asked === "/" ? findOnlyChoice(site, host, context) : undefined;
  const guard = found ?? only?.guard;
  if (guard === undefined) return undefined;
  return (exchange) => {
    const { settings } = context;
    const { accountId, machines, method } = guard.options;
    const headers = { ...openToBrowsers, "content-type": "application/json", "cache-control": "public, max-age=300" };
    if (exchange.request.method === "OPTIONS") {
      return answerStep("login", "metadata of the resource", { status: 204, headers, body: "" });
    }
    const body = {
      resource: originOf(host, settings.httpsPort()) + (only?.path ?? asked),
      authorization_servers: [issuerOf(settings, accountId)],
      scopes_supported: machines?.scopes ?? [],
      bearer_methods_supported: ["header"],
      resource_name: `${host} (${method.title})`,
    };
    return answerStep("login", "metadata of the resource", { status: 200, headers, body: `${JSON.stringify(body)}\n` });
  };
}

function findOnlyChoice(site: LoginSite, host: string, context: LoginContext) {
  const all = choicesAt(site, host, context).filter(({ guard }) => guard.options.machines !== undefined);
  return all.length === 1 ? all[0] : undefined;
}
