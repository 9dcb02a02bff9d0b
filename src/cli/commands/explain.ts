import type { Explanation } from "../../../sdk/src/index.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { renderExplanation } from "../terminal/explanation.ts";
import { headerSetting, readHeaders } from "../settings/read-headers.ts";
import { flagOnly, optional } from "../settings/setting.ts";
import { settings } from "../settings/settings.ts";

export const explain = defineCommand({
  name: "explain",
  doc: "Say what an edge would do with a request or a connection, without doing it: which route matches, what each module decides and why, and where it would go.",
  operands: "METHOD URL|tls://HOST|tcp://HOST:PORT",
  least: 1,
  most: 2,
  settings: {
    ...apiSettings,
    header: headerSetting,
    ip: flagOnly(optional("Address of the client (default: yours, as the API sees it).", { placeholder: "ADDRESS" })),
    body: flagOnly(optional("Body of the request.")),
    json: settings.json,
  },
  examples: [
    "postern explain GET https://app.example.com/orders",
    "postern explain POST https://app.example.com/hook -H 'User-Agent: curl/8' --ip 203.0.113.7",
    "postern explain tcp://db.example.com:5432 --ip 203.0.113.7",
  ],
  async run({ header, ip, body, json, ...access }, operands) {
    const api = openApi(access);
    const source = ip === undefined ? {} : { source_ip: ip };
    const call = async (): Promise<Explanation> => {
      const [method = "", url = ""] = operands;
      if (operands.length === 2) {
        const host = hostOf(url);
        return await api.edges.https.explain(await edgeFor("HTTPS", api.edges.https.list(), host), {
          method,
          url,
          headers: readHeaders(header),
          ...source,
          ...(body !== undefined && { body }),
        });
      }
      if (header.length > 0 || body !== undefined) {
        throw new Failure("usage", "--header and --body are for requests: give a method and an https:// URL");
      }
      const { scheme, name } = connectionAddress(method);
      if (scheme === "tls")
        return await api.edges.tls.explain(await edgeFor("TLS", api.edges.tls.list(), name), source);
      return await api.edges.tcp.explain(await edgeFor("TCP", api.edges.tcp.list(), name), source);
    };
    const told = await call().catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(told)}\n` : renderExplanation(told));
    return exitCodes.fine;
  },
});

type Edges = AsyncIterable<{ readonly id: string; readonly hostports?: readonly string[] | null | undefined }>;

/** The id of the edge that `name` leads to: a host, or for TCP edges host and port. */
async function edgeFor(kind: "HTTPS" | "TLS" | "TCP", edges: Edges, name: string): Promise<string> {
  let best: { readonly id: string; readonly match: string } | undefined;
  for await (const edge of edges) {
    for (const hostport of edge.hostports ?? []) {
      const host = hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
      const match = kind === "TCP" ? hostport.toLowerCase() : host;
      if (covers(match, name) && isCloser(match, best?.match)) best = { id: edge.id, match };
    }
  }
  if (best === undefined) throw new Failure("refused", `no ${kind} edge of this account serves "${name}"`);
  return best.id;
}

function hostOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:") throw new Failure("usage", `the URL must begin with https://: "${url}"`);
  return parsed.hostname.toLowerCase().replace(/\.$/, "");
}

/** `tls://HOST`, with or without a port, or `tcp://HOST:PORT`. */
function connectionAddress(text: string): { readonly scheme: "tls" | "tcp"; readonly name: string } {
  const [, scheme, host = "", port = ""] = /^(tls|tcp):\/\/([\w.*-]+?)\.?(:\d+)?$/i.exec(text) ?? [];
  if (scheme?.toLowerCase() === "tls") return { scheme: "tls", name: host.toLowerCase() };
  if (scheme !== undefined && port !== "") return { scheme: "tcp", name: `${host}${port}`.toLowerCase() };
  throw new Failure("usage", `give METHOD and https://…, tls://HOST or tcp://HOST:PORT: "${text}"`);
}

function covers(match: string, host: string): boolean {
  return match.startsWith("*.") ? host.endsWith(match.slice(1)) : host === match;
}

/** Names before wildcards, and the longest wildcard first. */
function isCloser(match: string, other: string | undefined): boolean {
  if (other === undefined) return true;
  return other.startsWith("*.") && (!match.startsWith("*.") || match.length > other.length);
}
