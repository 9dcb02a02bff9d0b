/** The language check of `npm run check`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDiff } from "../../scripts/language/changed-lines.ts";
import { passiveShare } from "../../scripts/language/passive.ts";
import { patterns } from "../../scripts/language/patterns.ts";
import { sentencesOf } from "../../scripts/language/sentences.ts";

describe("the language check", () => {
  it("the language check reads the added lines of a diff with their files and numbers", () => {
    const diff = [
      "diff --git a/README.md b/README.md",
      "--- a/README.md",
      "+++ b/README.md",
      "@@ -3 +3,2 @@ heading",
      "-old",
      "+new",
      "+second",
      "@@ -9,0 +11 @@",
      "+third",
    ].join("\n");
    assert.deepEqual(readDiff(diff), [
      { file: "README.md", line: 3, text: "new" },
      { file: "README.md", line: 4, text: "second" },
      { file: "README.md", line: 11, text: "third" },
    ]);
  });

  it("the language check finds phrases and passes plain sentences", () => {
    const found = (text: string) =>
      patterns.filter(({ matches }) => text.search(matches) !== -1).map(({ name }) => name);
    assert.deepEqual(found("Nobody is told at once."), ["nobody", "at once", "is told"]);
    assert.deepEqual(found("No agent has served it, so those that ask get what is kept."), [
      "those that",
      "what is kept",
    ]);
    assert.deepEqual(found("The agent reconnects automatically and keeps its URL."), []);
  });

  it("the language check splits paragraphs and list items into sentences, and reads no code or table", () => {
    const page =
      "# A title\n\nOne two. Three\nfour `a b c` five.\n\n```sh\nnot this\n```\n\n| not | this |\n\n- An item\n- [Another](x.md) one\n";
    assert.deepEqual(
      sentencesOf(page).map(({ line, words }) => [line, words]),
      [
        [3, 2],
        [3, 4],
        [12, 2],
        [13, 2],
      ],
    );
  });

  it("the language check counts the share of sentences in the passive voice, of pages with several sentences", () => {
    const active = "The edge closes the connection now.\n\n";
    const passive = ["is closed", "are not stored", "was quickly sent", "has been written"].map(
      (verb) => `The old connection ${verb} by the edge.\n\n`,
    );
    assert.equal(passiveShare(active.repeat(8)), 0);
    assert.equal(passiveShare(active.repeat(4) + passive.join("")), 0.5);
    assert.equal(passiveShare("It is closed by the edge.\n"), undefined);
  });
});
