/**
 * Node's direct conversions, missing in its type package. For short strings such as header fields, they cost half as
 * much as `toString` and `write` with an encoding.
 */
interface Buffer<TArrayBuffer extends ArrayBufferLike = ArrayBufferLike> {
  latin1Slice(start?: number, end?: number): string;
  /** Returns the number of bytes written. */
  latin1Write(text: string, offset?: number, length?: number): number;
  utf8Slice(start?: number, end?: number): string;
  /** Writes only whole characters. Returns the number of bytes written. */
  utf8Write(text: string, offset?: number, length?: number): number;
}
