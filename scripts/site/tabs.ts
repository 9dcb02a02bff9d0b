/** Tabs of the documentation site. On a repository host, the blocks follow each other below their bold titles. */

const group = /^<!-- tabs -->\n([^]*?)^<!-- \/tabs -->$/gm;
const titledBlock = /^\*\*(.+)\*\*\n\n```(\w+)\n/gm;

/** Between `<!-- tabs -->` and `<!-- /tabs -->`, each code block below a bold title becomes a tab. */
export function withTabs(markdown: string): string {
  return markdown.replaceAll(
    group,
    (_all, blocks: string) => `::: code-group\n\n${blocks.trim().replaceAll(titledBlock, "```$2 [$1]\n")}\n\n:::`,
  );
}
