/**
 * Regular expressions that are only texts of which one is to be found, such as `(?i)bot|crawler` or `^/api/`: most that
 * stand in conditions. The engine's own matcher finds these in a tenth of re2js's time. It gives up its bound nowhere:
 * with nothing that repeats and nothing inside anything else, it compares at most all the texts at every place.
 */

/**
 * Maximum number of ASCII characters of all texts together, and of UTF-16 units of the searched text: at most 65,536
 * comparisons.
 */
const maxTexts = 64;
export const maxSearched = 1024;

const whole = /^(\(\?i\))?(?:\((?:\?:)?([^()]*)\)|([^()]*))$/;
/** Anchors, literal characters, and literal characters after a backslash. */
const one = /^\^?(?:[\w /:;,@=&%~<>#'"!`-]|\\[./?+*^$[\]{}\\-])+\$?$/;

/** Returns an equivalent expression for texts of at most `maxSearched` units; undefined for any other pattern. */
export function toPlainPattern(pattern: string): RegExp | undefined {
  const [, folds, grouped, bare] = whole.exec(pattern.length > maxTexts ? "(" : pattern) ?? [];
  const texts = grouped ?? bare;
  if (texts === undefined) return undefined;
  const found = texts.split("|");
  if (!found.every((text) => one.test(text))) return undefined;
  // Both engines fold as Unicode does: `k` also matches the Kelvin sign.
  return new RegExp(found.map(dropEscape).join("|"), folds === undefined ? "" : "iu");
}

/** Removes the backslash where JavaScript refuses it. */
function dropEscape(text: string): string {
  return text.replaceAll(/\\(.)/g, (pair: string, sign: string) => (sign === "-" ? "-" : pair));
}
