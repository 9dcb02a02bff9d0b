/** Links to pages of the console. */

/** @param parts of the path in the console, such as `traffic` and a request id */
export function consoleLink(baseUrl: string, ...parts: readonly string[]): string {
  return `${baseUrl}/#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}
