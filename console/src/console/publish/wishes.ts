/** A service that a person describes in one sentence, and the objects that it consists of. */
import type { JsonObject } from "../api.ts";
import { countryModule } from "../services/countries.tsx";
import { faultsOf, loginModules, noProtection, rangeObjects } from "../services/protection.ts";
import type { Development, Protection } from "../services/protection.ts";

export type Protocol = "https" | "tls" | "tcp";
/** Which agent serves the port: the one of `postern dev`, a connected one, or one on a new machine. */
export type Machine = "here" | "agent" | "new";

export interface Wishes extends Protection {
  readonly protocol: Protocol;
  /** Public name and port. */
  readonly host: string;
  /** Local port, or host and port. */
  readonly target: string;
  readonly machine: Machine;
}

export const noWishes: Wishes = { ...noProtection, protocol: "https", host: "", target: "3000", machine: "here" };

/** Returns an error sentence for each missing or invalid field. */
export function wishFaults(wishes: Wishes): Partial<Record<keyof Wishes, string>> {
  const { protocol, host, target, machine } = wishes;
  const [name = "", port = ""] = host.split(/:(?=\d*$)/);
  const isName = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*$/i.test(name);
  const local = /^\d+$/.test(target) ? target : (/:(\d+)$/.exec(target)?.[1] ?? "");
  const faults = {
    host: !isName
      ? "Enter a public name, such as shop.example.com."
      : (port !== "" && !isPort(port)) || (protocol === "tcp" && port === "")
        ? "Enter a port from 1 to 65535 after the name, such as db.example.com:20000."
        : undefined,
    target: !isPort(local)
      ? "Enter a port from 1 to 65535, such as 3000."
      : machine === "here" && local !== target
        ? "This machine serves its own ports only. Enter a port, such as 3000."
        : undefined,
  };
  const own = Object.fromEntries(Object.entries(faults).filter(([, text]) => text !== undefined));
  // Without HTTP there is no login.
  const { ranges, countries } = faultsOf(wishes);
  const places = { ...(ranges !== undefined && { ranges }), ...(countries !== undefined && { countries }) };
  return protocol === "https" ? { ...faultsOf(wishes), ...own } : { ...places, ...own };
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** Returns the name of the service's objects: the first label of its host. */
export function nameOf(host: string): string {
  const label = host.split(/[.:]/, 1)[0] ?? "";
  return label.toLowerCase().replaceAll(/[^a-z0-9-]/g, "") || "service";
}

/** Returns a host beside the existing URL. */
export function hostBeside(url: string | undefined, protocol: Protocol): string {
  const known = URL.parse(url ?? "");
  const parent = known?.hostname.includes(".") ? known.hostname.slice(known.hostname.indexOf(".") + 1) : "localhost";
  if (protocol === "tcp") return `my-service.${parent}:20000`;
  return `my-service.${parent}:${known?.port || "443"}`;
}

export function documentOf(wishes: Wishes, development: Development | undefined): JsonObject {
  const { protocol, target, machine, ranges } = wishes;
  const host = protocol === "tcp" || /:\d+$/.test(wishes.host) ? wishes.host : `${wishes.host}:443`;
  const name = nameOf(host);
  const backend = { backend: { backend_id: `${name}-agents` } };
  const addresses = rangeObjects(name, ranges);
  const restriction = {
    ...("ip_policy" in addresses && { ip_restriction: { ip_policy_ids: [`${name}-visitors`] } }),
    ...countryModule(wishes),
  };
  const edge = { description: name, hostports: [host] };
  return {
    document: `console-${name}`,
    objects: {
      tunnel_group_backend: {
        [`${name}-agents`]: {
          description: name,
          labels: { service: name },
          // The agent of `postern dev` reads this.
          ...(machine === "here" && { metadata: `postern dev serves port ${target}` }),
        },
      },
      ...(protocol === "https"
        ? {
            https_edge: { [name]: edge },
            https_edge_route: {
              [`${name}-all`]: {
                edge_id: name,
                match_type: "path_prefix",
                match: "/",
                ...backend,
                ...restriction,
                ...loginModules(wishes, development),
              },
            },
          }
        : { [`${protocol}_edge`]: { [name]: { ...edge, ...backend, ...restriction } } }),
      ...addresses,
    },
  };
}
