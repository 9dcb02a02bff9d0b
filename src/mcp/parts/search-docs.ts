/** Search in the documentation that Postern ships. */
import { docsPages, readDocs } from "../../lib/io/own-docs.ts";

export interface Section {
  /** Such as `guides/logins.md`. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
  readonly folded: string;
}

let sections: readonly Section[] | undefined;

/** Maximum number of words of a search. */
const maxWords = 8;

/** Returns the best sections for the words, best first. A word in a heading counts ten times. */
export function searchDocs(query: string, limit: number): readonly Section[] {
  sections ??= [...docsPages()].flatMap(sectionsOf);
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_.-]{2,}/gu) ?? [])].slice(0, maxWords);
  const scored = sections.flatMap((section) => {
    const head = `${section.title} ${section.heading} ${section.page}`.toLowerCase();
    const hits = words.map((word) => (head.includes(word) ? 10 : 0) + Math.min(3, countWord(section.folded, word)));
    const matched = hits.filter((one) => one > 0).length;
    return matched === 0 ? [] : [{ section, score: matched * 20 + hits.reduce((sum, one) => sum + one, 0) }];
  });
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ section }) => section);
}

function sectionsOf(page: string): Section[] {
  const text = readDocs(page) ?? "";
  const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
  return text.split(/^(?=##? )/m).map((part) => {
    const heading = /^##? (.+)$/m.exec(part)?.[1] ?? title;
    return { page, title, heading, text: part, folded: part.toLowerCase() };
  });
}

function countWord(text: string, word: string): number {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0 && found < 3; at = text.indexOf(word, at + word.length)) found += 1;
  return found;
}
