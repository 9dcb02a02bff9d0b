/**
 * A URL of what is published at `publicUrl`, which a browser can open: below a wildcard, the one of `host` or of any name.
 *
 * @param host that a visitor asked for, with or without a port
 */
export function visitedUrl(publicUrl: string, host = ""): string {
  const [, scheme = "", base = "", rest = ""] = /^(\w+:\/\/)\*(\.[^:/]+)(.*)$/.exec(publicUrl) ?? [];
  if (base === "") return publicUrl;
  const name = host.replace(/:\d+$/, "");
  return `${scheme}${name.endsWith(base) ? name : `any${base}`}${rest}`;
}
