/** Converts placeholders of Caddy in values to templates of traffic policies. */
import { escapeTemplate } from "../report/template-literal.ts";

const known: Readonly<Record<string, string | undefined>> = {
  "http.request.uri": "${req.url.uri}",
  "http.request.uri.path": "${req.url.path}",
  "http.request.uri.query": "${req.url.query}",
  "http.request.host": "${req.url.host}",
  "http.request.hostport": "${req.host}",
  "http.request.method": "${req.method}",
  "http.request.scheme": "${req.url.scheme}",
  "http.request.remote.host": "${conn.client_ip}",
};

/** @returns undefined for a placeholder without an equivalent */
export function templateOf(text: string, own: Readonly<Record<string, string>> = {}): string | undefined {
  let made = "";
  let at = 0;
  for (const { 0: found, 1: name = "", index } of text.matchAll(/\{([\w.-]+)\}/g)) {
    const header = /^http\.request\.header\.([\w-]+)$/.exec(name)?.[1];
    const value = own[name] ?? known[name] ?? (header && `\${getReqHeader('${header}').join(',')}`);
    if (value === undefined) return undefined;
    // A dollar sign before an expression would make it literal.
    made += escapeTemplate(text.slice(at, index)).replace(/\$$/, () => "${'$'}") + value;
    at = index + found.length;
  }
  return made + escapeTemplate(text.slice(at));
}
