/** Settings of the hosted service that behave differently in Postern, and objects that a document cannot contain. */
import { documentKinds } from "../../api/documents/document.ts";
import type { JsonObject } from "../../lib/json.ts";
import { isVendorHost } from "../report/vendor-hosts.ts";
import type { ApiObject } from "./api-objects.ts";

interface LeftOut {
  readonly text: string;
  readonly guardsAccess?: boolean;
}

/** Returns why an object is not part of the document; undefined if it is. */
export function explainLeftOut({ resource, value, id }: ApiObject, all: readonly ApiObject[]): LeftOut | undefined {
  const description = textOf(value["description"]);
  if (resource === undefined) {
    const prefix = id.slice(0, id.indexOf("_"));
    return { text: `Postern has no objects of this kind ("${prefix}"). If you need it, look for another way` };
  }
  if (resource.name === "credential") {
    const body = {
      description,
      ...(Array.isArray(value["acl"]) && value["acl"].length > 0 && { acl: value["acl"] as unknown[] }),
    };
    return {
      text: `tokens cannot be moved. Agents with the old token cannot connect. Create a new one: postern api POST /credentials ${shellQuoted(JSON.stringify(body))}`,
    };
  }
  if (resource.name === "api_key") {
    return {
      text: `API keys cannot be moved. Create a new one: postern api POST /api_keys ${shellQuoted(JSON.stringify({ description }))}`,
    };
  }
  if (resource.name === "reserved_addr") return leaveOutAddress(textOf(value["addr"]), all);
  if (resource.name === "tls_certificate" && typeof value["issued_at"] === "string") {
    return {
      text: "the service issued this certificate and keeps its key. The server requests its own certificate for the domain",
    };
  }
  if (documentKinds.includes(resource)) return undefined;
  return {
    text: `this is live state, not configuration (${resource.name}). It appears again when an agent connects`,
  };
}

function leaveOutAddress(addr: string, all: readonly ApiObject[]): LeftOut {
  const port = addr.slice(addr.lastIndexOf(":") + 1);
  const user = all.find(({ value }) => {
    const places = [value["hostports"], value["url"]].flat().map(String);
    return places.some((place) => place.endsWith(`:${port}`));
  });
  return user
    ? { text: `not needed: the edge or endpoint that uses ${addr} reserves the address` }
    : { text: `the server chooses the port of an address. Reserve a new one: postern api POST /reserved_addrs '{}'` };
}

/** Returns how a mapped field behaves differently; undefined if it does not. */
export function describeDifference(kind: string, key: string, value: JsonObject): string | undefined {
  if (/^(?:domain|url|hostports)$/.test(key)) {
    const vendors = [value[key]].flat().map(String).find(isVendorHost);
    if (vendors !== undefined) {
      return `${vendors} belongs to the hosted service. Replace it in the document by a name of yours`;
    }
    if (kind === "tcp_edge" && key === "hostports") {
      return "the port must be in --tcp-ports, or an operator must apply the document. Change the port if it is taken";
    }
    return undefined;
  }
  return notes[key];
}

const callback = "the callback URL is another one: register the one of this server with the provider";
const notes: Readonly<Record<string, string>> = {
  saml: "the entity ID and the ACS URL are others: register the ones of this server with the identity provider",
  oidc: callback,
  oauth: callback,
  certificate_management_policy:
    "the server that you apply the document to requests the certificate from its own authority, after DNS points to it",
};

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
