/** Links of the documentation site: converts links of Markdown pages, and finds broken links in the built pages. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { branch, repository } from "./repository.ts";

/**
 * Returns the link's form on the site. Files outside of the pages, such as sources, link to the repository.
 * @param page the page with the link, relative to `docs/`
 */
export function siteLink(href: string, page: string): string {
  if (href.startsWith("#") || /^[a-z][a-z\d+.-]*:/i.test(href)) return href;
  const [path = "", anchor] = href.split("#", 2);
  const file = posix.join("docs", posix.dirname(page), path);
  const end = anchor === undefined ? "" : `#${anchor}`;
  if (!/^docs\/.+\.md$/.test(file)) return `${repository}/blob/${branch}/${file}${end}`;
  return `${path.replace(/README\.md$/, "index.md")}${end}`;
}

/** Returns the anchor of a heading in the form of repository hosts, so that a link works there and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns broken links and anchors in the HTML of a folder, one sentence each. */
export function findBrokenLinks(folder: string): readonly string[] {
  const pages = new Map(globSync("**/*.html", { cwd: folder }).map((file) => [file, readPage(`${folder}/${file}`)]));
  const found: string[] = [];
  for (const [file, { hrefs }] of pages) {
    for (const href of hrefs) {
      const problem = problemOf(href, file, folder, pages);
      if (problem !== undefined) found.push(`${file}: the link ${href} ${problem}`);
    }
  }
  return found;
}

interface Page {
  readonly ids: ReadonlySet<string>;
  readonly hrefs: ReadonlySet<string>;
}

function readPage(file: string): Page {
  const text = readFileSync(file, "utf8");
  const values = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, value = ""]) => decodeLink(value));
  return { ids: new Set(values(/\sid="([^"]*)"/g)), hrefs: new Set(values(/<a\s[^>]*?href="([^"]*)"/g)) };
}

function problemOf(href: string, from: string, folder: string, pages: ReadonlyMap<string, Page>): string | undefined {
  const url = new URL(href, `http://site/${from}`);
  if (url.host !== "site") return undefined;
  const path = decodeURIComponent(url.pathname).slice(1);
  const file = [path, `${path}.html`, posix.join(path, "index.html")].find((one) => pages.has(one));
  if (file === undefined) return existsSync(`${folder}/${path}`) ? undefined : "leads to no page";
  const anchor = decodeURIComponent(url.hash.slice(1));
  return anchor === "" || pages.get(file)?.ids.has(anchor) ? undefined : `names no section of ${file}`;
}

function decodeLink(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
