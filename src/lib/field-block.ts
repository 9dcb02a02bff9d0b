import { isFieldValue, isHttpToken } from "./http-token.ts";

/** Header fields of many messages, checked and rendered once. */
export class FieldBlock {
  /** Alternating names, in lower case, and values. */
  readonly fields: readonly string[];
  /** The lines, each with its line end. */
  readonly lines: string;

  /** @param fields alternating names and values; throws if one would break a message */
  constructor(fields: readonly string[]) {
    const checked: string[] = [];
    let lines = "";
    for (let at = 0; at < fields.length; at += 2) {
      const [name = "", value = ""] = [fields[at]?.toLowerCase(), fields[at + 1]];
      if (!isHttpToken(name)) throw new Error(`write a header field: "${name}" is not a field name`);
      if (!isFieldValue(value))
        throw new Error(`write the header field "${name}": its value has characters not allowed`);
      checked.push(name, value);
      lines += `${name}: ${value}\r\n`;
    }
    this.fields = checked;
    this.lines = lines;
  }
}
