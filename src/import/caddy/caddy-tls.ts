/** Converts TLS settings of Caddy's servers to settings of edges. */
import type { JsonObject } from "../../lib/json.ts";
import { itemsAt, nodeAt, textAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Names } from "../report/unique-names.ts";

/** CAs of client certificates, which Caddy stores as Base64. */
export class CaddyAuthorities {
  readonly #names: Names;
  readonly #found = new Map<string, string>();

  constructor(names: Names) {
    this.#names = names;
  }

  nameOf(base64: string, host: string): string {
    const pem = `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g)?.join("\n") ?? ""}\n-----END CERTIFICATE-----\n`;
    const known = this.#found.get(pem) ?? this.#names.take(["clients", host]);
    this.#found.set(pem, known);
    return known;
  }

  objects(): Record<string, Record<string, JsonObject>> {
    if (this.#found.size === 0) return {};
    return {
      certificate_authority: Object.fromEntries([...this.#found].map(([pem, name]) => [name, { ca_pem: pem }])),
    };
  }
}

/** Returns the first policy that names a host of the edge, or names none. */
export function tlsOf(
  server: SourceNode,
  hosts: readonly string[],
  ledger: Ledger,
  authorities: CaddyAuthorities,
): JsonObject {
  const policy = itemsAt(server, "tls_connection_policies").find((one) => {
    const names = textsAt(one, "match.sni");
    return names.length === 0 || names.some((name) => hosts.includes(name));
  });
  const least = textAt(policy, "protocol_min")?.replace(/^tls/, "");
  return {
    ...((least === "1.2" || least === "1.3") && { tls_termination: { min_version: least } }),
    ...mutualTls(policy, hosts[0] ?? "", ledger, authorities),
  };
}

function mutualTls(
  policy: SourceNode | undefined,
  host: string,
  ledger: Ledger,
  authorities: CaddyAuthorities,
): JsonObject {
  const node = nodeAt(policy, "client_authentication");
  const certificates = textsAt(node, "trusted_ca_certs");
  const keys = node?.value.kind === "map" ? node.value.entries.map(({ key }) => key) : [];
  const isPlain = keys.every((key) => key === "mode" || key === "trusted_ca_certs");
  const mode = textAt(node, "mode") ?? "require_and_verify";
  const isBase64 = certificates.every((one) => /^[A-Za-z0-9+/=]+$/.test(one));
  // Caddy has modes that admit clients without a certificate.
  if (!isPlain || !isBase64 || mode !== "require_and_verify" || certificates.length === 0 || certificates.length > 10)
    return {};
  ledger.say(node, "mapped", "mutual_tls of the edge");
  return { mutual_tls: { certificate_authority_ids: certificates.map((one) => authorities.nameOf(one, host)) } };
}
