/** Error correction of QR codes (ISO/IEC 18004 §7.5): arithmetic in GF(2⁸) modulo x⁸ + x⁴ + x³ + x² + 1. */

/** Returns the remainder of `data` divided by the generator polynomial of this degree. */
export function errorCorrection(data: readonly number[], degree: number): number[] {
  const generator = generatorOf(degree);
  const rest = Array.from({ length: degree }, () => 0);
  for (const byte of data) {
    const factor = byte ^ (rest.shift() as number);
    rest.push(0);
    for (const [at, coefficient] of generator.entries())
      rest[at] = (rest[at] as number) ^ multiplyInField(coefficient, factor);
  }
  return rest;
}

/** Returns the product of (x − 2⁰) … (x − 2^(degree − 1)), without its leading 1. */
function generatorOf(degree: number): number[] {
  const result: number[] = Array.from({ length: degree }, (_, at) => (at === degree - 1 ? 1 : 0));
  let root = 1;
  for (let step = 0; step < degree; step += 1) {
    for (let at = 0; at < degree; at += 1) {
      result[at] = multiplyInField(result[at] as number, root) ^ (at + 1 < degree ? (result[at + 1] as number) : 0);
    }
    root = multiplyInField(root, 2);
  }
  return result;
}

export function multiplyInField(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((other >>> bit) & 1) * one;
  }
  return product;
}
