/** What the writer and the reader of records agree on. */

/** First byte of the records. Readers refuse others. */
export const formatVersion = 2;

/** A value that begins with this is a hash. No value that was received has control characters. */
export const hashMark = 0x01;

/** Parts of a record that are present, or equal to those of the previous record of the connection; and its booleans. */
export const flags = {
  sameTarget: 0x01,
  sameHead: 0x02,
  sameResponse: 0x04,
  upstream: 0x08,
  body: 0x10,
  cutShort: 0x20,
} as const;
