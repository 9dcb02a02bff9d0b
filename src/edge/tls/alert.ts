/** Descriptions of alerts (RFC 8446 §6). */
const descriptions = { internalError: 80, unrecognizedName: 112 } as const;

/**
 * A fatal alert, as it is sent before a handshake has begun.
 * @param description by name, or by its number
 */
export function alert(description: keyof typeof descriptions | number): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, typeof description === "number" ? description : descriptions[description]]);
}
