/** Placeholders of Caddy in values, as templates of traffic policies. */

const known: Readonly<Record<string, string>> = {
  "http.request.uri": "${req.url.uri}",
  "http.request.uri.path": "${req.url.path}",
  "http.request.uri.query": "${req.url.query}",
  "http.request.host": "${req.url.host}",
  "http.request.hostport": "${req.host}",
  "http.request.method": "${req.method}",
  "http.request.scheme": "${req.url.scheme}",
  "http.request.remote.host": "${conn.client_ip}",
};

/** @returns undefined for a placeholder without equivalent */
export function templateOf(text: string, own: Readonly<Record<string, string>> = {}): string | undefined {
  let isKnown = true;
  // A literal `${` would be read as the start of an expression.
  const escaped = text.replaceAll("${", "$${");
  const made = escaped.replaceAll(/(?<!\$)\{([\w.-]+)\}/g, (_, name: string) => {
    const header = /^http\.request\.header\.([\w-]+)$/.exec(name)?.[1];
    const found =
      own[name] ?? known[name] ?? (header === undefined ? undefined : `\${getReqHeader('${header}').join(',')}`);
    if (found === undefined) isKnown = false;
    return found ?? "";
  });
  return isKnown ? made : undefined;
}
