/** Content codings that the edge can make, best first: what is chosen among equals. */
export const codings = ["zstd", "br", "gzip", "deflate"] as const;
export type Coding = (typeof codings)[number];

/** Choices by field value: clients send few different ones. Emptied when it gets large. */
const known = new Map<string, Coding | undefined>();
const maxKnown = 256;

/** The coding that an Accept-Encoding wants most (RFC 9110 §12.5.3), or undefined when it wants none of ours. @param among codings to choose from */
export function chooseCoding(accept: string | undefined, among: readonly Coding[] = codings): Coding | undefined {
  if (accept === undefined) return undefined;
  if (among !== codings) return choose(accept, among);
  if (known.has(accept)) return known.get(accept);
  const chosen = choose(accept, codings);
  if (known.size >= maxKnown) known.clear();
  known.set(accept, chosen);
  return chosen;
}

function choose(accept: string, among: readonly Coding[]): Coding | undefined {
  const weights = new Map<string, number>();
  for (const item of accept.split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    if (name === "") continue;
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    // A weight that cannot be read asks for nothing.
    const weight = q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0;
    weights.set(name === "x-gzip" ? "gzip" : name, weight);
  }
  const others = weights.get("*") ?? 0;
  let best: Coding | undefined;
  let most = 0;
  for (const coding of codings) {
    if (!among.includes(coding)) continue;
    const weight = weights.get(coding) ?? others;
    if (weight > most) [best, most] = [coding, weight];
  }
  // Without a weight of its own, identity is what is sent when nothing better is wanted.
  return most >= (weights.get("identity") ?? 0) ? best : undefined;
}
