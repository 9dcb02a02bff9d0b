import { isFieldValue, isHttpToken } from "./http-token.ts";

/** Header fields that many messages get: checked and written once. */
export class FieldBlock {
  /** Name, in lower case, and value in turns. */
  readonly fields: readonly string[];
  /** The lines, each with its end. */
  readonly lines: string;

  /** @param fields name and value in turns; throws where one would break a message */
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
