/** Converts a tunnel's options to the modules of an edge and its route, for API documents. */
import { basicAuthOption } from "./basic-auth-option.ts";
import { readAuthorities, cidrRules, inert, isNothing, isUnset, translations } from "./option-translations.ts";
import { captureOption } from "./capture-option.ts";
import { terminationOption } from "./termination.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface RouteModules {
  /** Modules by name. */
  readonly modules: Readonly<Record<string, Fields>>;
  /** Objects to which the modules refer, by kind and name. */
  readonly objects: Readonly<Record<string, Readonly<Record<string, Fields>>>>;
  /** Options that guard access and that no module can express. */
  readonly missing: readonly string[];
}

/**
 * Converts all options except basic authentication and the traffic policy.
 * @param name of the edge, from which other names are derived
 */
export function routeModules(options: Fields, name: string): RouteModules {
  const modules: Record<string, Fields> = {};
  const objects: Record<string, Record<string, Fields>> = {};
  const missing: string[] = [];
  for (const [key, value] of Object.entries(options)) {
    const option = value as Fields;
    const known = key.toLowerCase();
    if (isUnset(value) || inert.has(known) || known === basicAuthOption) continue;
    if (known === terminationOption) {
      modules["tls_termination"] = { terminate_at: "edge" };
      if (!isNothing(option)) missing.push("the certificate of --crt: upload it with `POST /tls_certificates`");
      continue;
    }
    if (known === captureOption) {
      modules[captureOption] = option;
      continue;
    }
    const by = translations[known];
    if (!by || by.module === "traffic_policy") continue;
    const config = { ...by.config(option) };
    if (by.module === "ip_restriction") {
      const policy = `${name}-visitors`;
      config["ip_policy_ids"] = [policy];
      objects["ip_policy"] = { [policy]: { description: `access to ${name}` } };
      objects["ip_policy_rule"] = Object.fromEntries(
        cidrRules(option).map(({ doc: { cidr, action } }, at) => [
          `${name}-${at + 1}`,
          { ip_policy_id: policy, cidr, action },
        ]),
      );
    }
    if (by.module === "mutual_tls") {
      config["certificate_authority_ids"] = [`${name}-clients`];
      objects["certificate_authority"] = { [`${name}-clients`]: { ca_pem: readAuthorities(option["mutual_tls_ca"]) } };
    }
    if (by.module === "oidc" && Object.values(by.internal?.(option) ?? {}).some((list) => !isNothing(list))) {
      missing.push("--oidc-allow-email and --oidc-allow-domain: write them as rules of a traffic policy");
    }
    modules[by.module] = config;
  }
  return { modules, objects, missing };
}
