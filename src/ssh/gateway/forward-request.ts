/** What `ssh -R` asks for, as an endpoint of an agent. */
import type { ClientBind } from "../../tunnel/client-hooks.ts";

/** Options of the endpoints, from the words after the host name. */
export interface CommandWords {
  /** Undefined: the port decides. */
  readonly proto: "http" | "tcp" | "tls" | undefined;
  /** Scheme of the public URL of HTTP endpoints. */
  readonly scheme: "http" | "https";
  /** Whether output is lines of JSON. */
  readonly json: boolean;
  /** Fields of every bind, from the flags. */
  readonly bind: Pick<ClientBind, "options" | "metadata" | "description" | "bindings" | "pooling" | "proxyProtocol">;
}

export const noWords: CommandWords = { proto: undefined, scheme: "https", json: false, bind: {} };

/** A request to forward a port (RFC 4254 §7.1). */
export interface ForwardRequest {
  /** What precedes the first port of `-R`; clients send `localhost` or nothing for none. */
  readonly address: string;
  readonly port: number;
}

/** Addresses that name no endpoint. */
const unnamed = new Set(["", "*", "localhost", "127.0.0.1", "0.0.0.0", "::", "::1"]);
/** Ports that mean an HTTP endpoint. */
const httpPorts = new Set([0, 80, 443]);

export class UnclearForward extends Error {
  override readonly name = "UnclearForward";
}

/**
 * Throws `UnclearForward`.
 *
 * @param domain the server's domain, under which single labels are names
 */
export function bindOf({ address, port }: ForwardRequest, words: CommandWords, domain: string): ClientBind {
  const name = unnamed.has(address.toLowerCase()) ? "" : address;
  const proto = words.proto ?? (httpPorts.has(port) ? "http" : "tcp");
  const shared = { ...words.bind, forwardsTo: `ssh -R ${address === "" ? "" : `${address}:`}${port}` };
  if (proto === "tcp") {
    if (name !== "" && name !== domain) {
      throw new UnclearForward(
        words.proto === undefined
          ? `publish "${name}" at port ${port}: HTTP services use port 80, as in -R ${name}:80:localhost:3000`
          : `publish port ${port} of "${name}": tcp endpoints have the name ${domain}. Leave out the name.`,
      );
    }
    return { ...shared, proto, ...(port !== 0 && { address: `${domain}:${port}` }) };
  }
  const isLabel = name !== "" && !name.includes(".");
  return {
    ...shared,
    proto: proto === "tls" ? proto : words.scheme,
    ...(isLabel ? { subdomain: name } : { hostname: name }),
  };
}
