import { apiFailure, apiSettings, openApi } from "./api-client.ts";
import { defineCommand } from "./command.ts";
import { Failure, exitCodes } from "./exit.ts";
import { renderExplanation } from "./explanation.ts";
import { headerSetting, readHeaders } from "./read-headers.ts";
import { flagOnly, optional } from "./setting.ts";
import { settings } from "./settings.ts";

export const explain = defineCommand({
  name: "explain",
  doc: "Say what an HTTPS edge would do with a request, without doing it: which route matches, what each module decides and why, and where the request would go.",
  operands: "METHOD URL",
  least: 2,
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
  ],
  async run({ header, ip, body, json, ...access }, [method = "", url = ""]) {
    const host = hostOf(url);
    const api = openApi(access);
    const call = async () => {
      let best: { readonly id: string; readonly match: string } | undefined;
      for await (const edge of api.edges.https.list()) {
        for (const hostport of edge.hostports ?? []) {
          const match = hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
          if (covers(match, host) && isCloser(match, best?.match)) best = { id: edge.id, match };
        }
      }
      if (best === undefined) throw new Failure("refused", `no HTTPS edge of this account serves "${host}"`);
      return await api.edges.https.explain(best.id, {
        method,
        url,
        headers: readHeaders(header),
        ...(ip !== undefined && { source_ip: ip }),
        ...(body !== undefined && { body }),
      });
    };
    const told = await call().catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(told)}\n` : renderExplanation(told));
    return exitCodes.fine;
  },
});

function hostOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:") throw new Failure("usage", `the URL must begin with https://: "${url}"`);
  return parsed.hostname.toLowerCase().replace(/\.$/, "");
}

function covers(match: string, host: string): boolean {
  return match.startsWith("*.") ? host.endsWith(match.slice(1)) : host === match;
}

/** Names before wildcards, and the longest wildcard first. */
function isCloser(match: string, other: string | undefined): boolean {
  if (other === undefined) return true;
  return other.startsWith("*.") && (!match.startsWith("*.") || match.length > other.length);
}
