/** Returns the decoded names and values of an `application/x-www-form-urlencoded` text, in order. */
export function formPairs(text: string): readonly (readonly [name: string, value: string])[] {
  return [...new URLSearchParams(text)];
}

/** Compares by code unit, as the providers' own code sorts names. */
export function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
