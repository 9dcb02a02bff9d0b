const p1 = 0x9e37_79b1_85eb_ca87n;
const p2 = 0xc2b2_ae3d_27d4_eb4fn;
const p3 = 0x1656_67b1_9e37_79f9n;
const p4 = 0x85eb_ca77_c2b2_ae63n;
const p5 = 0x27d4_eb2f_1656_67c5n;

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotate = (value: bigint, by: bigint): bigint => wrap((value << by) | (value >> (64n - by)));
const round = (sum: bigint, lane: bigint): bigint => wrap(rotate(wrap(sum + lane * p2), 31n) * p1);
const merge = (hash: bigint, sum: bigint): bigint => wrap((hash ^ round(0n, sum)) * p1 + p4);

/** XXH64 with seed 0. */
export function xxhash64(bytes: Buffer): bigint {
  const { length } = bytes;
  let at = 0;
  let hash = p5;
  if (length >= 32) {
    let sums: readonly [bigint, bigint, bigint, bigint] = [wrap(p1 + p2), p2, 0n, wrap(-p1)];
    for (; at + 32 <= length; at += 32) {
      sums = [
        round(sums[0], bytes.readBigUInt64LE(at)),
        round(sums[1], bytes.readBigUInt64LE(at + 8)),
        round(sums[2], bytes.readBigUInt64LE(at + 16)),
        round(sums[3], bytes.readBigUInt64LE(at + 24)),
      ];
    }
    hash = wrap(rotate(sums[0], 1n) + rotate(sums[1], 7n) + rotate(sums[2], 12n) + rotate(sums[3], 18n));
    for (const sum of sums) hash = merge(hash, sum);
  }
  hash = wrap(hash + BigInt(length));
  for (; at + 8 <= length; at += 8) {
    hash = wrap(rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * p1 + p4);
  }
  if (at + 4 <= length) {
    hash = wrap(rotate(hash ^ wrap(BigInt(bytes.readUInt32LE(at)) * p1), 23n) * p2 + p3);
    at += 4;
  }
  for (; at < length; at += 1) hash = wrap(rotate(hash ^ wrap(BigInt(bytes[at] as number) * p5), 11n) * p1);
  hash = wrap((hash ^ (hash >> 33n)) * p2);
  hash = wrap((hash ^ (hash >> 29n)) * p3);
  return hash ^ (hash >> 32n);
}
