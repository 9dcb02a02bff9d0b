/** Redirect URIs are compared exactly. Only the port of the client's own machine is free (RFC 8252 §7.3). */

const maxLength = 512;
/** Schemes that run or show content instead of opening an application. */
const harmful = /^(?:javascript|data|vbscript|file|blob|about|view-source|filesystem|ws|wss|ftp|mailto|tel|sms):$/;
const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Returns why `text` cannot be a redirect URI, as the end of "must …". */
export function redirectIssue(text: string): string | undefined {
  if (text.length > maxLength) return `have at most ${maxLength} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) return "be visible ASCII";
  const url = URL.parse(text);
  if (!url) return "be an absolute URI";
  if (text.includes("#")) return "not have a fragment";
  if (text.includes("\\")) return "not contain a backslash";
  if (url.username !== "" || url.password !== "") return "not contain credentials";
  if (harmful.test(url.protocol)) return `not use the scheme "${url.protocol}"`;
  if (url.protocol === "http:" && !loopback.has(url.hostname)) return "use https, or be a loopback address";
  // A parser that normalizes could send the code elsewhere than the text says.
  if ((url.protocol === "https:" || url.protocol === "http:") && !isPlain(text, url))
    return "be written in normal form";
  return undefined;
}

/** Whether the URI leads to the client's own machine. */
export function isLoopback(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "http:" && loopback.has(url.hostname);
}

/** Whether a request's redirect URI is one of the client's. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  if (!isLoopback(uri)) return false;
  const bare = withoutPort(uri);
  return registered.some((one) => isLoopback(one) && withoutPort(one) === bare);
}

function withoutPort(text: string): string {
  const url = new URL(text);
  url.port = "";
  return url.href;
}

function isPlain(text: string, url: URL): boolean {
  return text === url.href || `${text}/` === url.href;
}
