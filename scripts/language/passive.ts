/** Computes the share of sentences in the passive voice. */
import { sentencesOf } from "./sentences.ts";

const irregular =
  "been|begun|bound|broken|brought|built|caught|chosen|cut|done|drawn|driven|fed|found|forgotten|given|gone|held|hidden|kept|known|laid|led|left|lost|made|met|overwritten|paid|put|read|rewritten|run|said|seen|sent|set|shown|shut|spent|split|spoken|sworn|taken|thrown|told|understood|withdrawn|won|written";
/** A form of `be` and a participle, with at most one adverb between. Adjectives such as `is limited` count as well. */
const passive = new RegExp(
  `\\b(?:is|are|was|were|be|been|being|gets|get)\\s+(?:not\\s+|never\\s+|always\\s+|only\\s+|\\w+ly\\s+)?(?:\\w{2,}ed|${irregular})\\b`,
  "i",
);

/** Returns a value between 0 and 1, or undefined for a page with too few sentences. */
export function passiveShare(markdown: string): number | undefined {
  const sentences = sentencesOf(markdown).filter(({ words }) => words > 3);
  if (sentences.length < fewest) return undefined;
  return sentences.filter(({ text }) => passive.test(text)).length / sentences.length;
}

const fewest = 8;
