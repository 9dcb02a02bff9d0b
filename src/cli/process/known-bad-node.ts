/** First release of each Node line with the latest security fixes that concern Postern. */
const fixed: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 26: [12, 1] };

/** Whether this version of Node lacks known security fixes. */
export function isKnownBadNode(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const least = fixed[major];
  return least !== undefined && (minor < least[0] || (minor === least[0] && patch < least[1]));
}
