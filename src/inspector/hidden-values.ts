/** Parses heads and removes fields that contain credentials. */

const secretNames: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
]);
export const hidden = "(hidden)";

/** Name and value of each field in order, and the first line. */
export interface HeadLines {
  readonly first: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/**
 * A head that the strict codec has validated, in Latin-1.
 * @param reveals whether to include credentials
 */
export function linesOf(head: Buffer, reveals: boolean): HeadLines {
  const [first = "", ...lines] = head.toString("latin1").replace(/^\r\n/, "").trimEnd().split("\r\n");
  return { first, fields: lines.map((line) => fieldOf(line, reveals)) };
}

/** Parses trailers as `linesOf` parses heads. */
export function trailersOf(trailers: Buffer, reveals: boolean): HeadLines {
  const lines = trailers.toString("latin1").trimEnd().split("\r\n");
  return { first: "", fields: lines.map((line) => fieldOf(line, reveals)) };
}

function fieldOf(line: string, reveals: boolean): readonly [name: string, value: string] {
  const at = line.indexOf(":");
  const name = line.slice(0, at);
  const value = line.slice(at + 1).trim();
  return [name, !reveals && secretNames.has(name.toLowerCase()) ? hidden : value];
}

export function renderHead({ first, fields }: HeadLines): string {
  return `${[first, ...fields.map(([name, value]) => `${name}: ${value}`)].join("\r\n")}\r\n\r\n`;
}
