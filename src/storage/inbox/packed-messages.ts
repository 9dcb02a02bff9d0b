/** New messages as a database takes them: the columns of all as one text, and the sealed payloads of all as one buffer. */
import type { SealedMessage } from "./inbox-messages.ts";

export interface PackedMessage extends Omit<SealedMessage, "sealed"> {
  /** Where the sealed payload is. */
  readonly at: number;
  readonly length: number;
}

export interface PackedMessages {
  /** JSON of `PackedMessage[]`. */
  readonly text: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

export function packed(messages: readonly SealedMessage[]): PackedMessages {
  let total = 0;
  const rows = messages.map(({ sealed: { length }, ...rest }): PackedMessage => {
    const at = total;
    total += length;
    return { ...rest, at, length };
  });
  // Separate from Node's pool, because the buffer may move to another thread.
  const bytes = Buffer.allocUnsafeSlow(total);
  for (const [index, { sealed }] of messages.entries()) bytes.set(sealed, (rows[index] as PackedMessage).at);
  return { text: JSON.stringify(rows), sealed: bytes };
}
