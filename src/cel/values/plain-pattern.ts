/**
 * Regular expressions that are only texts of which one is to be found, such as `(?i)bot|crawler` or `^/api/`: most that
 * stand in conditions. The engine's own matcher finds these in a tenth of re2js's time. It gives up its bound nowhere:
 * with nothing that repeats and nothing inside anything else, it compares at most all the texts at every place.
 */

/** ASCII characters of all the texts together, and UTF-16 units of what is searched: 65,536 comparisons at most. */
const maxTexts = 64;
export const maxSearched = 1024;

const whole = /^(\(\?i\))?(?:\((?:\?:)?([^()]*)\)|([^()]*))$/;
/** Ends of the text, characters that stand for themselves, and such that do so behind a backslash. */
const one = /^\^?(?:[\w /:;,@=&%~<>#'"!`-]|\\[./?+*^$[\]{}\\-])+\$?$/;

/** The same, for texts of at most `maxSearched` units; undefined for any other pattern. */
export function plainPattern(pattern: string): RegExp | undefined {
  const [, folds, grouped, bare] = whole.exec(pattern.length > maxTexts ? "(" : pattern) ?? [];
  const texts = grouped ?? bare;
  if (texts === undefined) return undefined;
  const found = texts.split("|");
  if (!found.every((text) => one.test(text))) return undefined;
  // Both fold as Unicode says: `k` is also the sign of Kelvin.
  return new RegExp(found.map(escaped).join("|"), folds === undefined ? "" : "iu");
}

/** Without the backslash that JavaScript refuses here. */
function escaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (pair: string, sign: string) => (sign === "-" ? "-" : pair));
}
