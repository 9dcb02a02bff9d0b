/** Content codings that the edge can produce, in order of preference. */
export const codings = ["zstd", "br", "gzip", "deflate"] as const;
export type Coding = (typeof codings)[number];

/** Choices by field value, because clients send few different values. Cleared when it becomes large. */
const known = new Map<string, Coding | undefined>();
const maxKnown = 256;

/**
 * Returns the coding that an Accept-Encoding prefers (RFC 9110 §12.5.3), or undefined if it accepts none of ours.
 * @param among codings to choose from
 */
export function chooseCoding(accept: string | undefined, among: readonly Coding[] = codings): Coding | undefined {
  if (accept === undefined) return undefined;
  if (among !== codings) return chooseAmong(accept, among);
  if (known.has(accept)) return known.get(accept);
  const chosen = chooseAmong(accept, codings);
  if (known.size >= maxKnown) known.clear();
  known.set(accept, chosen);
  return chosen;
}

function chooseAmong(accept: string, among: readonly Coding[]): Coding | undefined {
  const weights = new Map<string, number>();
  for (const item of accept.split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    if (name === "") continue;
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    // A malformed weight counts as 0.
    const weight = q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0;
    weights.set(name === "x-gzip" ? "gzip" : name, weight);
  }
  const wildcardWeight = weights.get("*") ?? 0;
  let best: Coding | undefined;
  let most = 0;
  for (const coding of codings) {
    if (!among.includes(coding)) continue;
    const weight = weights.get(coding) ?? wildcardWeight;
    if (weight > most) [best, most] = [coding, weight];
  }
  // Without an explicit weight, identity is used if no better coding is accepted.
  return most >= (weights.get("identity") ?? 0) ? best : undefined;
}
