/** One message of an event stream: its fields, and what they become (WHATWG HTML §9.2.6). */

export const eventFields = ["data", "retry", "event", "id"] as const;
export type EventField = (typeof eventFields)[number];

interface Line {
  /** With its line end. */
  readonly whole: string;
  /** "" for comments and empty lines. */
  readonly name: string;
  readonly value: string;
}

export interface EventMessage {
  readonly lines: readonly Line[];
  /** As the message's first line ends; `\n` where none does. */
  readonly lineEnd: string;
}

/** @param text of one message, with the empty line that ends it if that has come */
export function readMessage(text: string): EventMessage {
  const lines: Line[] = [];
  let lineEnd = "";
  for (const [whole, content, end] of text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g) as Iterable<string[]>) {
    if (whole === "") break;
    lineEnd ||= end as string;
    lines.push(readLine(whole as string, content as string));
  }
  return { lines, lineEnd: lineEnd || "\n" };
}

function readLine(whole: string, content: string): Line {
  const colon = content.indexOf(":");
  if (colon < 0) return { whole, name: content, value: "" };
  const from = content[colon + 1] === " " ? colon + 2 : colon + 1;
  return { whole, name: content.slice(0, colon), value: content.slice(from) };
}

/** Lines of `data` are joined as clients join them; of the others the last one counts. Undefined when there is none. */
export function fieldOf({ lines }: EventMessage, field: EventField): string | undefined {
  const values = lines.filter(({ name }) => name === field).map(({ value }) => value);
  return field === "data" && values.length > 0 ? values.join("\n") : values.at(-1);
}

/**
 * The message with another value in a field that it has, where its first line stood. Line ends in `data` become
 * further lines of it, so nothing can be slipped in beside it.
 * @returns undefined when the field cannot hold the value
 */
export function withField(message: EventMessage, field: EventField, value: string): EventMessage | undefined {
  if (field === "retry" && !/^\d{1,15}$/.test(value)) return undefined;
  if (field !== "data" && /[\r\n\0]/.test(value)) return undefined;
  const { lineEnd } = message;
  const replacing = value
    .split(/\r\n|\n|\r/)
    .map((one): Line => ({ whole: `${field}: ${one}${lineEnd}`, name: field, value: one }));
  const first = message.lines.findIndex(({ name }) => name === field);
  const rest = message.lines.filter(({ name }, index) => index > first && name !== field);
  return { lines: [...message.lines.slice(0, first), ...replacing, ...rest], lineEnd };
}

export function renderMessage({ lines }: EventMessage): string {
  return lines.map(({ whole }) => whole).join("");
}
