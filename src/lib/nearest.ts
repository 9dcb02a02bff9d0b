/** Returns the element of `known` most similar to `text`, for "did you mean". */
export function findNearest(text: string, known: Iterable<string>): string | undefined {
  // Up to a third of the letters may be wrong, and two letters of a short name.
  let least = Math.max(2, Math.floor(text.length / 3));
  let found: string | undefined;
  for (const name of known) {
    const letters = editDistance(name, text);
    if (letters > least || (found !== undefined && letters === least)) continue;
    least = letters;
    found = name;
  }
  return found;
}

/** Returns the number of letters to change, add or remove. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
