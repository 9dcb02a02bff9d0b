/**
 * Returns a URL below `publicUrl` that a browser can open. For a wildcard, it has `host` or any matching name.
 *
 * @param host host of a request, with or without a port
 */
export function visitedUrl(publicUrl: string, host = ""): string {
  const [, scheme = "", base = "", rest = ""] = /^(\w+:\/\/)\*(\.[^:/]+)(.*)$/.exec(publicUrl) ?? [];
  if (base === "") return publicUrl;
  const name = host.replace(/:\d+$/, "");
  return `${scheme}${name.endsWith(base) ? name : `any${base}`}${rest}`;
}
