import type { Explanation } from "../../../sdk/src/index.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { renderExplanation } from "../terminal/explanation.ts";
import { headerSetting, readHeaders } from "../settings/read-headers.ts";
import { country } from "../../settings/kinds/address.ts";
import { namedText, text } from "../../settings/kinds/text.ts";
import { flagOnly, many, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const explain = defineCommand({
  name: "explain",
  doc: "Simulate a request or connection at an edge. Prints the matching route, the decision of each module with its reason, and the destination. Nothing is sent.",
  operands: "METHOD URL|tls://HOST|tcp://HOST:PORT",
  least: 1,
  most: 2,
  settings: {
    ...apiSettings,
    header: headerSetting,
    ip: flagOnly(optional("Address of the client (default: yours, as the API sees it).", namedText("ADDRESS"))),
    country: flagOnly(optional("Country of the client, such as DE (default: the country of its address).", country)),
    body: flagOnly(optional("Body of the request.", text)),
    as: flagOnly(
      optional(
        "E-mail address of a person to treat as logged in. Shows the rule that allows or denies this person.",
        namedText("EMAIL"),
      ),
    ),
    asGroup: flagOnly(many("Team, organization or group of this person; repeatable.", namedText("GROUP"))),
    json: settings.json,
  },
  examples: [
    "postern explain GET https://app.example.com/orders",
    "postern explain POST https://app.example.com/hook -H 'User-Agent: curl/8' --ip 203.0.113.7",
    "postern explain GET https://app.example.com/admin --as ada@example.com --as-group acme/ops",
    "postern explain GET https://app.example.com/ --country DE",
    "postern explain tcp://db.example.com:5432 --ip 203.0.113.7",
  ],
  async run({ header, ip, country: code, body, as, asGroup, json, ...access }, operands) {
    const api = await openApi(access);
    if (as === undefined && asGroup.length > 0) throw new Failure("usage", "--as-group needs --as: set both");
    const source = { ...(ip !== undefined && { source_ip: ip }), ...(code !== undefined && { country: code }) };
    const explanation = async (): Promise<Explanation> => {
      const [method = "", url = ""] = operands;
      if (operands.length === 2) {
        const { scheme, host } = placeOf(url);
        const request = {
          method,
          url,
          headers: readHeaders(header),
          ...source,
          ...(body !== undefined && { body }),
          ...(as !== undefined && { as: { email: as, groups: asGroup } }),
        };
        const edges = scheme === "https" ? api.edges.https.list() : undefined;
        const served = await siteFor(scheme, host, edges, () => api.endpoints.list());
        return await (served.isEdge ? api.edges.https : api.endpoints).explain(served.id, request);
      }
      if (header.length > 0 || body !== undefined || as !== undefined) {
        throw new Failure(
          "usage",
          "--header, --body and --as work only for requests: set a method and an https:// URL",
        );
      }
      const { scheme, name } = connectionAddress(method);
      const edges = scheme === "tls" ? api.edges.tls : api.edges.tcp;
      const served = await siteFor(scheme, name, edges.list(), () => api.endpoints.list());
      return await (served.isEdge ? edges : api.endpoints).explain(served.id, source);
    };
    const report = await explanation().catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : renderExplanation(report));
    return exitCodes.fine;
  },
});

type Edges = AsyncIterable<{ readonly id: string; readonly hostports?: readonly string[] | null | undefined }>;

interface MatchingObject {
  readonly id: string;
  readonly isEdge: boolean;
  /** The matching name at the server, which may be a wildcard. */
  readonly match: string;
}

/**
 * Finds the edge or endpoint of `name`, a host or, for TCP, host and port. Names win over wildcards, and edges over
 * endpoints.
 */
async function siteFor(
  scheme: string,
  name: string,
  edges: Edges | undefined,
  endpoints: () => Endpoints,
): Promise<MatchingObject> {
  let best: MatchingObject | undefined;
  for await (const { id, hostports } of edges ?? []) {
    for (const hostport of hostports ?? []) {
      const host = hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
      const match = scheme === "tcp" ? hostport.toLowerCase() : host;
      if (coversHost(match, name) && isCloser(match, best?.match)) best = { id, isEdge: true, match };
    }
  }
  if (best?.match === name) return best;
  const wildcard = name.replace(/^[^.]*/, "*");
  for await (const { id, type, scheme: served, host, hostport } of endpoints()) {
    if (type !== "ephemeral" || served !== scheme) continue;
    const match = (scheme === "tcp" ? hostport : host) ?? "";
    if ((match === name || match === wildcard) && isCloser(match, best?.match)) best = { id, isEdge: false, match };
  }
  if (best) return best;
  throw new Failure("refused", `no ${scheme.toUpperCase()} edge and no agent of this account serves "${name}"`);
}

type Endpoints = AsyncIterable<{
  readonly id: string;
  readonly type?: string | undefined;
  readonly scheme?: string | undefined;
  readonly host?: string | undefined;
  readonly hostport?: string | undefined;
}>;

function placeOf(url: string): { readonly scheme: "https" | "http"; readonly host: string } {
  const parsed = URL.parse(url);
  const scheme = parsed?.protocol.slice(0, -1);
  if (!parsed || (scheme !== "https" && scheme !== "http")) {
    throw new Failure("usage", `the URL must begin with https:// or http://: "${url}"`);
  }
  return { scheme, host: parsed.hostname.toLowerCase().replace(/\.$/, "") };
}

/** Parses `tls://HOST`, with or without a port, or `tcp://HOST:PORT`. */
function connectionAddress(text: string): { readonly scheme: "tls" | "tcp"; readonly name: string } {
  const [, scheme, host = "", port = ""] = /^(tls|tcp):\/\/([\w.*-]+?)\.?(:\d+)?$/i.exec(text) ?? [];
  if (scheme?.toLowerCase() === "tls") return { scheme: "tls", name: host.toLowerCase() };
  if (scheme !== undefined && port !== "") return { scheme: "tcp", name: `${host}${port}`.toLowerCase() };
  throw new Failure("usage", `write METHOD and https://…, tls://HOST or tcp://HOST:PORT instead of "${text}"`);
}

function coversHost(match: string, host: string): boolean {
  return match.startsWith("*.") ? host.endsWith(match.slice(1)) : host === match;
}

/** Names win over wildcards, and the longest wildcard wins. */
function isCloser(match: string, other: string | undefined): boolean {
  if (other === undefined) return true;
  return other.startsWith("*.") && (!match.startsWith("*.") || match.length > other.length);
}
