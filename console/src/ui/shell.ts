/** A text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Asks a URL whose certificate may be of the server's own authority: trusted by its file, and checked. */
export function curlWithAuthority(url: string, method = "GET"): string {
  return withAuthority(curl(url, method));
}

/** The curl command, trusting the authority of the server that runs in this folder. */
export function withAuthority(command: string): string {
  return `npx postern ca 2>/dev/null >postern-ca.pem; ${command.replace("curl", "curl --cacert postern-ca.pem")}`;
}

/** A request as a command. @param more words after the URL, quoted where that is needed */
export function curl(url: string, method = "GET", more: readonly string[] = []): string {
  const hasBody = more.some((word) => word.includes("--data"));
  const by = method === "GET" && !hasBody ? [] : method === "HEAD" && !hasBody ? ["--head"] : ["-X", quoted(method)];
  return [
    "curl",
    // Brackets and braces are patterns to curl, and dot segments are removed.
    ...(/[[\]{}]/.test(url) ? ["--globoff"] : []),
    ...(/\/\.{1,2}(?:[/?#]|$)/.test(url) ? ["--path-as-is"] : []),
    ...by,
    quoted(url),
    ...more,
  ].join(" ");
}

/** A header field as words for curl, which takes `name:` as an order to leave the field out. */
export function curlHeader(name: string, value: string): string {
  return `-H ${quoted(value === "" ? `${name};` : `${name}: ${value}`)}`;
}

/** A call of the API on the command line. */
export function apiCommand(method: string, path: string, body?: string): string {
  return ["npx postern api", method, quoted(path), ...(body === undefined ? [] : [quoted(body)])].join(" ");
}

/** Runs `command` with `text` as its standard input. */
export function piped(text: string, command: string): string {
  return `printf %s ${quoted(text)} | ${command}`;
}
