/** The sources of the documentation site: sidebar, links and code blocks. `npm run docs` builds the site itself. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { anchorOf, findBrokenLinks, siteLink } from "../../scripts/site/links.ts";
import { faultsOfBlocks } from "../../scripts/site/code-blocks.ts";
import { faultsOfPictures, pictures } from "../../scripts/site/pictures.ts";
import { branch, repository } from "../../scripts/site/repository.ts";
import { serveSite } from "../../scripts/site/serve.ts";
import { sidebarOf, titleOf } from "../../scripts/site/sidebar.ts";
import { withTabs } from "../../scripts/site/tabs.ts";

describe("the documentation site", () => {
  const folder = mkdtempSync(join(tmpdir(), "postern-site-"));
  after(() => rmSync(folder, { recursive: true }));

  it("the documentation site lists every page of docs/ once in its sidebar, by title", () => {
    const links = sidebarOf("docs").flatMap(({ items }) => items.map(({ link }) => link));
    const pages = globSync("docs/{*,guides/*,concepts/*,architecture/*,reference/*}.md").map((file) =>
      file.slice(4, -3),
    );
    assert.deepEqual(links.filter((link) => link !== "/decisions/").sort(), pages.sort());
    assert.equal(titleOf("<!-- a note -->\n\n# The `name` of it\n"), "The name of it");
  });

  it("the documentation site sends links to files outside its pages to the repository", () => {
    assert.equal(
      siteLink("../../SECURITY.md#what-remains", "guides/a.md"),
      `${repository}/blob/${branch}/SECURITY.md#what-remains`,
    );
    assert.equal(siteLink("../decisions/README.md", "guides/a.md"), "../decisions/index.md");
    assert.equal(siteLink("b.md#part", "guides/a.md"), "b.md#part");
    assert.equal(siteLink("https://example.org/x.md", "guides/a.md"), "https://example.org/x.md");
    assert.equal(siteLink("#part", "guides/a.md"), "#part");
  });

  it("the documentation site shows pictures of views that the console has, and reports the others", () => {
    assert.deepEqual(faultsOfPictures(), []);
    const { traffic: _traffic, ...others } = pictures;
    assert.deepEqual(faultsOfPictures({ ...others, edge: "sites/EDGE", object: "objects/no_such/ID" }), [
      'docs/guides/console/edge.webp shows the view "sites", which the console does not have',
      'docs/guides/console/object.webp shows objects of "no_such", which do not exist',
      "docs/guides/console/traffic.webp is in no list: add its view to scripts/site/pictures.ts",
    ]);
    assert.deepEqual(faultsOfPictures({ ...pictures, absent: "traffic" }), [
      "docs/guides/console/absent.webp is missing: run `npm run screenshots`",
      "docs/guides/console/absent.webp is shown by no page",
    ]);
  });

  it("the documentation site makes tabs of titled code blocks between two comments", () => {
    const block = (title: string): string => `**${title}**\n\n\`\`\`sh\n${title}\n\`\`\`\n\n`;
    assert.equal(
      withTabs(`a\n\n<!-- tabs -->\n\n${block("npm")}${block("deb")}<!-- /tabs -->\n\nb\n`),
      "a\n\n::: code-group\n\n```sh [npm]\nnpm\n```\n\n```sh [deb]\ndeb\n```\n\n:::\n\nb\n",
    );
  });

  it("the documentation site reports links to missing pages and to missing sections", () => {
    mkdirSync(join(folder, "guides"));
    writeFileSync(
      join(folder, "guides/a.html"),
      `<h2 id="part"></h2><a href="/guides/a#part"></a><a class="x" href="b#no"></a>`,
    );
    writeFileSync(join(folder, "guides/b.html"), `<a href="/nowhere"></a><a href="https://example.org/"></a>`);
    assert.deepEqual([...findBrokenLinks(folder)].sort(), [
      "guides/a.html: the link b#no names no section of guides/b.html",
      "guides/b.html: the link /nowhere leads to no page",
    ]);
  });

  it("the documentation site serves pages at URLs without an ending, and nothing outside its folder", async () => {
    writeFileSync(join(folder, "404.html"), "missing");
    const server = serveSite(folder, 0);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const read = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, response.headers.get("content-type"), (await response.text()).slice(0, 7)];
    };
    assert.deepEqual(await read("/guides/a"), [200, "text/html; charset=utf-8", "<h2 id="]);
    assert.deepEqual(await read("/nowhere"), [404, "text/html; charset=utf-8", "missing"]);
    assert.deepEqual(await read("/%2e%2e%2f%2e%2e%2fetc%2fhostname"), [404, "text/html; charset=utf-8", "missing"]);
    server.close();
    await once(server, "close");
  });

  it("the documentation site reports code blocks that cannot be parsed", () => {
    const fence = "```";
    assert.deepEqual(faultsOfBlocks(`${fence}json\n{"a": 1}\n${fence}\n${fence}yaml\na: [\n${fence}\n`).length, 1);
    assert.deepEqual(faultsOfBlocks(`text\n${fence}sh\nls\n`), ["2: the code block has no end"]);
    assert.deepEqual(faultsOfBlocks(`${fence}json\n{ … }\n${fence}\n`), []);
  });

  it("the documentation site names only commands and options that exist", () => {
    const reference =
      readFileSync("docs/reference/commands.md", "utf8") + readFileSync("docs/reference/settings.md", "utf8");
    const commands = new Set([...reference.matchAll(/^## `postern ([a-z]+)/gm)].map(([, name]) => name));
    const flags = new Set([...reference.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag));
    const faults: string[] = [];
    for (const page of globSync("docs/{faq.md,comparison.md,concepts/*.md,guides/troubleshooting.md,site/index.md}")) {
      for (const [, command = ""] of readFileSync(page, "utf8").matchAll(/(?:^ *|`)((?:npx )?postern [^`\n]+)/gm)) {
        const [, name = ""] = /postern ([a-z]+)/.exec(command) ?? [];
        if (name !== "" && !commands.has(name)) faults.push(`${page}: ${command}`);
        for (const [flag] of command.matchAll(/--[a-z][a-z-]+/g)) if (!flags.has(flag)) faults.push(`${page}: ${flag}`);
      }
    }
    assert.deepEqual(faults, []);
  });

  it("the documentation site has a section for each error code at the anchor that the table links", () => {
    const page = readFileSync("docs/reference/errors.md", "utf8");
    const anchors = new Set([...page.matchAll(/^### (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)));
    const links = [...page.matchAll(/^\| \[`[^`]+`\]\(#([^)]+)\)/gm)].map(([, anchor = ""]) => anchor);
    assert.ok(links.length > 200);
    assert.deepEqual(
      links.filter((link) => !anchors.has(link)),
      [],
    );
  });
});
