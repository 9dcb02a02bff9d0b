/** Fields of a head that hold credentials, and heads without them. */

const secretNames: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
]);
export const hidden = "(hidden)";

/** Name and value of each field, in order, and the line before them. */
export interface HeadLines {
  readonly first: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** A head that the strict codec has read; Latin-1. @param reveals whether credentials are in it */
export function linesOf(head: Buffer, reveals: boolean): HeadLines {
  const [first = "", ...lines] = head.toString("latin1").replace(/^\r\n/, "").trimEnd().split("\r\n");
  const fields = lines.map((line) => {
    const at = line.indexOf(":");
    const name = line.slice(0, at);
    const value = line.slice(at + 1).trim();
    return [name, !reveals && secretNames.has(name.toLowerCase()) ? hidden : value] as const;
  });
  return { first, fields };
}

export function renderHead({ first, fields }: HeadLines): string {
  return `${[first, ...fields.map(([name, value]) => `${name}: ${value}`)].join("\r\n")}\r\n\r\n`;
}
