import { docsPages, readDocs as readPage } from "../../lib/io/own-docs.ts";
import { searchDocs } from "../parts/search-docs.ts";
import { cutTo, quoteValue } from "../parts/quote-value.ts";
import { countOf, textOf, ToolError } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

/** Characters of a page per call. */
const pieceLength = 12_000;
const maxFound = 8;

export const readDocs: Tool = {
  name: "read_docs",
  title: "Read the documentation",
  description:
    "Search the documentation of this server's version, or read one page as Markdown. Without arguments, lists the pages.",
  input: {
    search: { type: "string", description: "Words to search for." },
    page: { type: "string", description: "Page to read, such as guides/logins.md." },
    from: { type: "integer", minimum: 1, description: "Character at which to continue a long page." },
  },
  required: [],
  async run(input, { baseUrl }) {
    const page = textOf(input, "page", 128);
    if (page !== undefined) return pieceOf(page.replace(/^\/?(docs\/)?/, ""), countOf(input, "from", 10_000_000) ?? 1);
    const search = textOf(input, "search", 255);
    if (search === undefined) return [...docsPages()].join("\n");
    const found = searchDocs(search, maxFound);
    if (found.length === 0) return `No page has ${quoteValue(search)}. Call read_docs without arguments for the pages.`;
    return found
      .map(({ page: name, title, heading, text }) => {
        const start = cutTo(text.replace(/^##? .+\n+/, "").trim(), 400);
        return `## ${title}: ${heading}\n${name} (${baseUrl}/docs/${name})\n${start}`;
      })
      .join("\n\n");
  },
};

function pieceOf(page: string, from: number): string {
  const text = docsPages().has(page) ? readPage(page) : undefined;
  if (text === undefined)
    throw new ToolError(`There is no page ${quoteValue(page)}. Call read_docs without arguments.`);
  const piece = text.slice(from - 1, from - 1 + pieceLength);
  const next = from + pieceLength;
  return next <= text.length ? `${piece}\n\n… Continue with "from": ${next}.` : piece;
}
