const p1 = 0x9e37_79b1_85eb_ca87n;
const p2 = 0xc2b2_ae3d_27d4_eb4fn;
const p3 = 0x1656_67b1_9e37_79f9n;
const p4 = 0x85eb_ca77_c2b2_ae63n;
const p5 = 0x27d4_eb2f_1656_67c5n;

const wrapUint64 = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotateLeft = (value: bigint, by: bigint): bigint => wrapUint64((value << by) | (value >> (64n - by)));
const mixLane = (sum: bigint, lane: bigint): bigint => wrapUint64(rotateLeft(wrapUint64(sum + lane * p2), 31n) * p1);
const mergeSum = (hash: bigint, sum: bigint): bigint => wrapUint64((hash ^ mixLane(0n, sum)) * p1 + p4);

/** XXH64 with seed 0. */
export function computeXxhash64(bytes: Buffer): bigint {
  const { length } = bytes;
  let at = 0;
  let hash = p5;
  if (length >= 32) {
    let sums: readonly [bigint, bigint, bigint, bigint] = [wrapUint64(p1 + p2), p2, 0n, wrapUint64(-p1)];
    for (; at + 32 <= length; at += 32) {
      sums = [
        mixLane(sums[0], bytes.readBigUInt64LE(at)),
        mixLane(sums[1], bytes.readBigUInt64LE(at + 8)),
        mixLane(sums[2], bytes.readBigUInt64LE(at + 16)),
        mixLane(sums[3], bytes.readBigUInt64LE(at + 24)),
      ];
    }
    hash = wrapUint64(
      rotateLeft(sums[0], 1n) + rotateLeft(sums[1], 7n) + rotateLeft(sums[2], 12n) + rotateLeft(sums[3], 18n),
    );
    for (const sum of sums) hash = mergeSum(hash, sum);
  }
  hash = wrapUint64(hash + BigInt(length));
  for (; at + 8 <= length; at += 8) {
    hash = wrapUint64(rotateLeft(hash ^ mixLane(0n, bytes.readBigUInt64LE(at)), 27n) * p1 + p4);
  }
  if (at + 4 <= length) {
    hash = wrapUint64(rotateLeft(hash ^ wrapUint64(BigInt(bytes.readUInt32LE(at)) * p1), 23n) * p2 + p3);
    at += 4;
  }
  for (; at < length; at += 1)
    hash = wrapUint64(rotateLeft(hash ^ wrapUint64(BigInt(bytes[at] as number) * p5), 11n) * p1);
  hash = wrapUint64((hash ^ (hash >> 33n)) * p2);
  hash = wrapUint64((hash ^ (hash >> 29n)) * p3);
  return hash ^ (hash >> 32n);
}
