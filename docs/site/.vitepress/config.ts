/** The documentation site. Its pages are the Markdown files of `docs/`; the sidebar is made from them. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { anchorOf, siteLink } from "../../../scripts/site/links.ts";
import { branch, repository } from "../../../scripts/site/repository.ts";
import { sidebarOf } from "../../../scripts/site/sidebar.ts";
import { withTabs } from "../../../scripts/site/tabs.ts";

const docs = fileURLToPath(new URL("../..", import.meta.url));
const { version, description } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));

export default defineConfig({
  title: "Postern",
  description,
  lang: "en",
  srcDir: "..",
  srcExclude: ["site/node_modules/**", "site/README.md"],
  outDir: "./dist",
  cacheDir: "./.cache",
  cleanUrls: true,
  metaChunk: true,
  rewrites: { "site/index.md": "index.md", "decisions/README.md": "decisions/index.md" },
  vite: {
    publicDir: fileURLToPath(new URL("../public", import.meta.url)),
    // The search index is one file, which is loaded when a reader searches.
    build: { chunkSizeWarningLimit: 4000 },
    plugins: [
      {
        // The pages are outside of the folder that has node_modules.
        name: "vue-for-pages",
        enforce: "pre",
        resolveId(id, importer, options) {
          if (!/^vue(?:\/|$)/.test(id) || !importer?.startsWith(docs) || importer.startsWith(`${docs}site/`))
            return null;
          return this.resolve(id, `${docs}site/package.json`, { ...options, skipSelf: true });
        },
      },
    ],
  },
  head: [["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }]],
  markdown: {
    anchor: { slugify: anchorOf },
    config(markdown) {
      markdown.core.ruler.after("normalize", "tabs", (state) => {
        state.src = withTabs(state.src);
      });
      markdown.core.ruler.push("site-links", ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          // Vue would evaluate braces in code.
          if (token.type === "code_inline") token.attrSet("v-pre", "");
          const href = token.type === "link_open" ? token.attrGet("href") : null;
          if (href) token.attrSet("href", siteLink(href, env.path.slice(docs.length)));
        }
      });
    },
  },
  transformPageData(page) {
    if (page.relativePath === "reference/errors.md") page.frontmatter.outline = 2;
    // The page of a link may not be written yet.
    const { hero } = page.frontmatter;
    if (hero) hero.actions = hero.actions.filter(({ link }: { link: string }) => existsSync(`${docs}${link}.md`));
  },
  themeConfig: {
    logo: "/logo.svg",
    sidebar: [...sidebarOf(docs)],
    outline: [2, 3],
    nav: [
      { text: "Install", link: "/guides/install" },
      { text: "Guides", link: "/guides/quick-start", activeMatch: "^/guides/(?!install)" },
      { text: "Concepts", link: "/concepts/edges-and-routes", activeMatch: "^/concepts/" },
      { text: "Reference", link: "/reference/commands", activeMatch: "^/reference/" },
      {
        text: version,
        items: [
          { text: "Changes", link: `${repository}/blob/${branch}/CHANGELOG.md` },
          { text: "Contribute", link: `${repository}/blob/${branch}/CONTRIBUTING.md` },
        ],
      },
    ],
    search: {
      provider: "local",
      options: {
        // Records of decisions would hide the guides among the results.
        _render: (source, env, markdown) =>
          env.relativePath.startsWith("decisions/") ? "" : markdown.render(source, env),
      },
    },
    editLink: { pattern: `${repository}/edit/${branch}/docs/:path`, text: "Edit this page" },
    footer: { message: "Released under the Apache License 2.0." },
  },
});
