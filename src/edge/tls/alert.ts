/** Descriptions of alerts (RFC 8446 §6). */
const descriptions = { internalError: 80, unrecognizedName: 112 } as const;

/**
 * Returns a fatal alert as sent before a handshake has begun.
 * @param description by name or number
 */
export function encodeAlert(description: keyof typeof descriptions | number): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, typeof description === "number" ? description : descriptions[description]]);
}
