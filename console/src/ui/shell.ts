/** A text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Asks a URL whose certificate may be of the server's own authority: trusted by its file, and checked. */
export function curlWithAuthority(url: string, method = "GET"): string {
  const by = method === "GET" ? "" : method === "HEAD" ? "--head " : `--request ${quoted(method)} `;
  return `npx postern ca 2>/dev/null >postern-ca.pem; curl --cacert postern-ca.pem ${by}${quoted(url)}`;
}
