const dotSegment = /\/\.{1,2}(?=\/|$)/;

/**
 * Returns the path in the client's own spelling, with dot segments resolved (RFC 3986 §5.2.4), for the upstream. If the
 * path has a canonical form, the result has the same form.
 */
export function withoutDotSegments(path: string): string {
  if (!dotSegment.test(path)) return path;
  const kept: string[] = [];
  const segments = path.split("/");
  const last = segments.at(-1);
  for (const segment of segments) {
    if (segment !== "." && segment !== "..") kept.push(segment);
    else if (segment === ".." && kept.length > 1) kept.pop();
  }
  if (last === "." || last === "..") kept.push("");
  return kept.join("/");
}
