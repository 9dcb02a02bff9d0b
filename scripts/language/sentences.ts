/** Sentences of a Markdown page. Code blocks, tables and headings have none. */
export interface Sentence {
  readonly line: number;
  readonly text: string;
  readonly words: number;
}

export function sentencesOf(markdown: string): readonly Sentence[] {
  const found: Sentence[] = [];
  let paragraph: { line: number; text: string } | undefined;
  let inCode = false;
  const end = (): void => {
    if (paragraph) found.push(...splitSentences(paragraph.text, paragraph.line));
    paragraph = undefined;
  };
  for (const [at, line] of markdown.split("\n").entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      end();
      inCode = !inCode;
    } else if (inCode || /^\s*(?:\||#|<!--|---|$)/.test(line)) end();
    else {
      // A list item is a paragraph, with or without a period.
      if (/^\s*(?:[-*]|\d+\.) /.test(line)) end();
      paragraph ??= { line: at + 1, text: "" };
      paragraph.text += ` ${line.trim()}`;
    }
  }
  end();
  return found;
}

function splitSentences(text: string, line: number): Sentence[] {
  const plain = text
    .replaceAll(/`[^`]*`/g, "CODE")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim();
  return plain
    .split(/(?<=[.!?]["”)*_]*)\s+(?=[A-Z“"*_[(])|:\s+(?=[A-Z])/)
    .map((one) => ({ line, text: one, words: one.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length }));
}
