/** How pages show a country. */

const names = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** Returns undefined for a code that no country has. */
export function countryName(code: string): string | undefined {
  return names.of(code);
}

/** Returns two regional indicator letters, which browsers show as a flag. */
export function flagOf(code: string): string {
  return String.fromCodePoint(...Array.from(code, (letter) => 0x1f1a5 + letter.charCodeAt(0)));
}

/** Returns flag, name and code. */
export function countryText(code: string): string {
  return `${flagOf(code)} ${countryName(code) ?? code} (${code})`;
}
