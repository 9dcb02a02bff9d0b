/** Decoded names and values of an `application/x-www-form-urlencoded` text, in its order. */
export function formPairs(text: string): readonly (readonly [name: string, value: string])[] {
  return [...new URLSearchParams(text)];
}

/** By code unit, as the providers' own code sorts names. */
export function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
