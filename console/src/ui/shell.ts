/** Quotes a text as one word of a POSIX shell. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Requests a URL whose certificate the server's own CA may have issued. The CA file makes curl trust and verify it. */
export function curlWithAuthority(url: string, method = "GET"): string {
  return withAuthority(renderCurl(url, method));
}

/** Returns the curl command with the CA of the server in this folder. */
export function withAuthority(command: string): string {
  return `npx postern ca 2>/dev/null >postern-ca.pem; ${command.replace("curl", "curl --cacert postern-ca.pem")}`;
}

/**
 * Returns a request as a curl command.
 * @param more additional words after the URL, quoted if necessary
 */
export function renderCurl(url: string, method = "GET", more: readonly string[] = []): string {
  const hasBody = more.some((word) => word.includes("--data"));
  const by =
    method === "GET" && !hasBody ? [] : method === "HEAD" && !hasBody ? ["--head"] : ["-X", quoteForShell(method)];
  return [
    "curl",
    // curl expands brackets and braces, and removes dot segments.
    ...(/[[\]{}]/.test(url) ? ["--globoff"] : []),
    ...(/\/\.{1,2}(?:[/?#]|$)/.test(url) ? ["--path-as-is"] : []),
    ...by,
    quoteForShell(url),
    ...more,
  ].join(" ");
}

/** Returns a header field as words for curl, which treats `name:` as an instruction to omit the field. */
export function curlHeader(name: string, value: string): string {
  return `-H ${quoteForShell(value === "" ? `${name};` : `${name}: ${value}`)}`;
}

/** Returns a call of the API as a command. */
export function apiCommand(method: string, path: string, body?: string): string {
  return ["npx postern api", method, quoteForShell(path), ...(body === undefined ? [] : [quoteForShell(body)])].join(
    " ",
  );
}

/** Returns `command` with `text` as its standard input. */
export function pipeTo(text: string, command: string): string {
  return `printf %s ${quoteForShell(text)} | ${command}`;
}
