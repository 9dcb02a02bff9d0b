/** Where a bind wants to be published: agents say it by URL, by name and by address, which then must agree (§5). */
import { Refusal } from "../lib/errors.ts";
import { textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { BindRequest } from "./server-hooks.ts";

type BindPlace = Pick<BindRequest, "hostname" | "subdomain" | "address" | "port">;

const maxName = 255;
const maxUrl = 4096;
const nameMembers = ["Hostname", "Domain", "Subdomain"] as const;

/** Throws `agent_request_invalid` for what contradicts itself, `agent_option_unsupported` for what `proto` has not. */
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
    if (misplaced) throw foreign(misplaced, proto);
    return { hostname: "", subdomain: "", address: one("Addr", address, "URL", url.host) };
  }
  if (address !== "") throw foreign("Addr", proto);
  const named = one("URL", url.hostname, "Hostname", one("Hostname", hostname, "Domain", domain));
  if (named === "") return { hostname: "", subdomain, address: "" };
  // Our answer's Hostname comes back beside the Subdomain that it was made of.
  if (subdomain !== "" && !named.toLowerCase().startsWith(`${subdomain.toLowerCase()}.`)) {
    throw contradiction("Subdomain", subdomain, "Hostname", named);
  }
  return { hostname: named, subdomain: "", address: "", ...(url.port === undefined ? {} : { port: url.port }) };
}

/** What both say, or the one that says something. */
function one(name: string, value: string, otherName: string, other: string): string {
  const same = value.toLowerCase().replace(/\.$/, "") === other.toLowerCase().replace(/\.$/, "");
  if (value !== "" && other !== "" && !same) throw contradiction(name, value, otherName, other);
  return value === "" ? other : value;
}

/** Go agents since 1.11 name what they want by URL, "" for anything; all bring back the one of our answer. */
function readUrl(
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

function contradiction(name: string, value: string, otherName: string, other: string): Refusal {
  return new Refusal("agent_request_invalid", `"${name}" is "${value}", but "${otherName}" is "${other}".`);
}

function foreign(name: string, proto: string): Refusal {
  return new Refusal(
    "agent_option_unsupported",
    `open a ${proto} tunnel with "${name}": only other protocols support it`,
  );
}
