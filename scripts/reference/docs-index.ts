/** `docs/llms.txt`: the index of the documentation for assistants (llmstxt.org). */
import { readFileSync } from "node:fs";
import { docsPages } from "../../src/lib/io/own-docs.ts";

const groups: readonly (readonly [title: string, folder: string])[] = [
  ["Guides", "guides/"],
  ["Concepts", "concepts/"],
  ["Reference", "reference/"],
  ["Architecture", "architecture/"],
  ["More", ""],
];

export function docsIndex(): readonly [path: string, text: string] {
  const pages = [...docsPages()].sort();
  const lines = ["# Postern", "", "> Self-hosted tunnels and edge routing. Pages of this version as Markdown."];
  for (const [title, folder] of groups) {
    const own = pages.filter((page) => page.slice(0, page.lastIndexOf("/") + 1) === folder);
    lines.push("", `## ${title}`, "", ...own.map(lineOf));
  }
  return ["docs/llms.txt", `${lines.join("\n")}\n`];
}

/** Title and first sentence. */
function lineOf(page: string): string {
  const text = readFileSync(`docs/${page}`, "utf8");
  const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
  const paragraph = /^# .+\n+((?:[A-Z`].*\n)+)/m.exec(text)?.[1]?.replaceAll("\n", " ");
  const plain = paragraph?.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").trim();
  const sentence = plain && /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".");
  return `- [${title}](/docs/${page})${sentence ? `: ${sentence}` : ""}`;
}
