/** One message of an event stream: parses and changes its fields (WHATWG HTML §9.2.6). */

export const eventFields = ["data", "retry", "event", "id"] as const;
export type EventField = (typeof eventFields)[number];

interface EventLine {
  /** Includes the line end. */
  readonly whole: string;
  /** "" for comments and empty lines. */
  readonly name: string;
  readonly value: string;
}

export interface EventMessage {
  readonly lines: readonly EventLine[];
  /** Line end of the message's first line; `\n` if there is none. */
  readonly lineEnd: string;
}

/** @param text one message, with the empty line that ends it, if that has arrived */
export function readMessage(text: string): EventMessage {
  const lines: EventLine[] = [];
  let lineEnd = "";
  for (const [whole, content, end] of text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g) as Iterable<string[]>) {
    if (whole === "") break;
    lineEnd ||= end as string;
    lines.push(readLine(whole as string, content as string));
  }
  return { lines, lineEnd: lineEnd || "\n" };
}

function readLine(whole: string, content: string): EventLine {
  const colon = content.indexOf(":");
  if (colon < 0) return { whole, name: content, value: "" };
  const from = content[colon + 1] === " " ? colon + 2 : colon + 1;
  return { whole, name: content.slice(0, colon), value: content.slice(from) };
}

/**
 * Joins lines of `data` as clients do. For other fields, the last line counts. Returns undefined if the field is
 * absent.
 */
export function fieldOf({ lines }: EventMessage, field: EventField): string | undefined {
  const values = lines.filter(({ name }) => name === field).map(({ value }) => value);
  return field === "data" && values.length > 0 ? values.join("\n") : values.at(-1);
}

/**
 * Returns the message with another value in an existing field, at its first line. Line ends in `data` become further
 * lines of it, so a value cannot inject other fields.
 * @returns undefined if the field cannot hold the value
 */
export function withField(message: EventMessage, field: EventField, value: string): EventMessage | undefined {
  if (field === "retry" && !/^\d{1,15}$/.test(value)) return undefined;
  if (field !== "data" && /[\r\n\0]/.test(value)) return undefined;
  const { lineEnd } = message;
  const replacing = value
    .split(/\r\n|\n|\r/)
    .map((one): EventLine => ({ whole: `${field}: ${one}${lineEnd}`, name: field, value: one }));
  const first = message.lines.findIndex(({ name }) => name === field);
  const rest = message.lines.filter(({ name }, index) => index > first && name !== field);
  return { lines: [...message.lines.slice(0, first), ...replacing, ...rest], lineEnd };
}

export function renderMessage({ lines }: EventMessage): string {
  return lines.map(({ whole }) => whole).join("");
}
