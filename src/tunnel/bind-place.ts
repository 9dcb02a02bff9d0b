/** The requested public address of a bind. Agents send it as URL, name and address, which must agree (§5). */
import { Refusal } from "../lib/errors.ts";
import { textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { BindRequest } from "./server-hooks.ts";

type BindPlace = Pick<BindRequest, "hostname" | "subdomain" | "address" | "port">;

const maxName = 255;
const maxUrl = 4096;
const nameMembers = ["Hostname", "Domain", "Subdomain"] as const;

/**
 * Throws `agent_request_invalid` for contradictions, `agent_option_unsupported` for parts that `proto` does not
 * support.
 */
export function readPlace(options: JsonObject, proto: BindRequest["proto"]): BindPlace {
  const url = readUrl(textMember(options, "URL", maxUrl), proto);
  const [hostname, domain, subdomain] = nameMembers.map((name) => textMember(options, name, maxName)) as [
    string,
    string,
    string,
  ];
  const address = textMember(options, "Addr", maxName);
  if (proto === "tcp") {
    const misplaced = nameMembers.find((name) => textMember(options, name, maxName) !== "");
    if (misplaced) throw refuseForeign(misplaced, proto);
    return { hostname: "", subdomain: "", address: requireSame("Addr", address, "URL", url.host) };
  }
  if (address !== "") throw refuseForeign("Addr", proto);
  const named = requireSame("URL", url.hostname, "Hostname", requireSame("Hostname", hostname, "Domain", domain));
  if (named === "") return { hostname: "", subdomain, address: "" };
  // A reconnecting agent sends the Hostname of our response together with the Subdomain that produced it.
  if (subdomain !== "" && !named.toLowerCase().startsWith(`${subdomain.toLowerCase()}.`)) {
    throw refuseContradiction("Subdomain", subdomain, "Hostname", named);
  }
  return { hostname: named, subdomain: "", address: "", ...(url.port === undefined ? {} : { port: url.port }) };
}

/** Returns the value that both give, or the only one given. */
function requireSame(name: string, value: string, otherName: string, other: string): string {
  const same = value.toLowerCase().replace(/\.$/, "") === other.toLowerCase().replace(/\.$/, "");
  if (value !== "" && other !== "" && !same) throw refuseContradiction(name, value, otherName, other);
  return value === "" ? other : value;
}

/**
 * Go agents since 1.11 send the requested URL, "" for any. All agents send the URL of our response when they reconnect.
 */
export function readUrl(
  text: string,
  proto: BindRequest["proto"],
): { readonly hostname: string; readonly host: string; readonly port: number | undefined } {
  if (text === "") return { hostname: "", host: "", port: undefined };
  const parts = /^([a-z]+):\/\/((?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+))(?::(\d{1,5}))?\/?$/i.exec(text);
  if (!parts) throw new Refusal("agent_request_invalid", `The URL "${text}" is not a scheme, a host and a port.`);
  const [, scheme = "", hostname = "", port] = parts;
  if (scheme.toLowerCase() !== proto) {
    throw new Refusal("agent_request_invalid", `The URL "${text}" does not match the protocol "${proto}".`);
  }
  return {
    hostname,
    host: port === undefined ? hostname : `${hostname}:${port}`,
    port: port === undefined ? undefined : Number(port),
  };
}

function refuseContradiction(name: string, value: string, otherName: string, other: string): Refusal {
  return new Refusal("agent_request_invalid", `"${name}" is "${value}", but "${otherName}" is "${other}".`);
}

function refuseForeign(name: string, proto: string): Refusal {
  return new Refusal(
    "agent_option_unsupported",
    `open a ${proto} tunnel with "${name}": only other protocols support it`,
  );
}
