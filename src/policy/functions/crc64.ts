const polynomial = 0xd8_00_00_00_00_00_00_00n;

/** High and low halves, to avoid a bigint per byte. */
const high = new Uint32Array(256);
const low = new Uint32Array(256);
for (let at = 0; at < 256; at += 1) {
  let value = BigInt(at);
  for (let bit = 0; bit < 8; bit += 1) value = value & 1n ? (value >> 1n) ^ polynomial : value >> 1n;
  high[at] = Number(value >> 32n);
  low[at] = Number(value & 0xffff_ffffn);
}

/** ISO 3309 with 64 bits, as Go's `crc64.ISO`. */
export function computeCrc64(bytes: Uint8Array): bigint {
  let top = 0xffff_ffff;
  let bottom = 0xffff_ffff;
  for (const byte of bytes) {
    const at = (bottom ^ byte) & 0xff;
    bottom = ((bottom >>> 8) | (top << 24)) ^ (low[at] as number);
    top = (top >>> 8) ^ (high[at] as number);
  }
  return (BigInt(~top >>> 0) << 32n) | BigInt(~bottom >>> 0);
}
