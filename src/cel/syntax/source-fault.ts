/** Thrown while parsing a source, and converted to an issue at the entry point. */
export class SourceFault extends Error {
  override readonly name = "SourceFault";
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(offset: number, message: string, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}
