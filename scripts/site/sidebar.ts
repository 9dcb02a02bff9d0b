/** The sidebar of the documentation site: the pages in `docs/`, by kind, titled by their first heading. */
import { globSync, readFileSync } from "node:fs";

export interface SidebarGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly SidebarItem[];
}

export interface SidebarItem {
  readonly text: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  /** Names of pages in order. Missing pages are skipped. */
  readonly pages: readonly string[];
  /** Folder whose other pages are appended to this group. */
  readonly rest?: string;
  readonly collapsed?: boolean;
}

const guidePaths = (...names: readonly string[]): readonly string[] => names.map((name) => `guides/${name}`);

const groups: readonly Group[] = [
  { text: "Tutorials", pages: guidePaths("quick-start", "first-public-server") },
  { text: "How-to: install and operate", pages: guidePaths("install", "upgrade", "containers", "certificates") },
  { text: "How-to: publish", pages: guidePaths("agents", "ssh", "domains", "paths", "limits", "behind-a-proxy") },
  { text: "How-to: protect", pages: guidePaths("logins", "mcp", "policies", "limited-keys") },
  {
    text: "How-to: observe",
    pages: guidePaths("console", "inspect-traffic", "assistants", "monitor", "events", "troubleshooting"),
  },
  { text: "How-to: change safely", pages: guidePaths("plan-and-apply", "backtest", "restarts", "backup") },
  { text: "How-to: scale", pages: guidePaths("several-edges", "several-nodes") },
  {
    text: "How-to: migrate",
    pages: guidePaths("import", "coming-from-ngrok", "coming-from-frp", "coming-from-cloudflared"),
  },
  { text: "How-to: more", pages: [], rest: "guides" },
  {
    text: "Concepts",
    pages: [
      "edges-and-routes",
      "tunnels-and-agents",
      "planes-and-propagation",
      "life-of-a-request",
      "identity-and-sessions",
      "storage-and-history",
    ].map((name) => `concepts/${name}`),
    rest: "concepts",
  },
  {
    text: "Reference",
    pages: ["commands", "settings", "errors", "resources", "modules", "policies"].map((name) => `reference/${name}`),
    rest: "reference",
  },
  {
    text: "Project",
    pages: ["comparison", "faq", "glossary", "agent-protocol", "security-controls"],
    rest: "",
  },
  {
    text: "Architecture",
    pages: [
      "architecture",
      ...["change", "request", "connection", "login", "event", "edges-and-nodes", "stop"].map(
        (name) => `architecture/${name}`,
      ),
      "decisions/README",
    ],
    rest: "architecture",
  },
];

/** @param folder the folder of the pages, `docs` */
export function sidebarOf(folder: string): readonly SidebarGroup[] {
  const files = globSync("{*,*/*}.md", { cwd: folder }).map((file) =>
    file.replaceAll("\\", "/").slice(0, -".md".length),
  );
  const shown = files.filter((file) => !/^(?:site|decisions)\//.test(file) || file === "decisions/README").sort();
  const named = new Set(groups.flatMap(({ pages }) => pages));
  return groups
    .map(({ text, pages, rest }) => {
      const others = shown.filter((file) => !named.has(file) && folderOf(file) === rest);
      const items = [...pages.filter((page) => shown.includes(page)), ...others].map((page) => ({
        text: titleOf(readFileSync(`${folder}/${page}.md`, "utf8")),
        link: `/${page.replace(/README$/, "")}`,
      }));
      return { text, items, collapsed: false };
    })
    .filter(({ items }) => items.length > 0);
}

function folderOf(page: string): string {
  return page.includes("/") ? page.slice(0, page.indexOf("/")) : "";
}

/** Returns the first heading as plain text. */
export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "").trim() ?? "Untitled";
}
