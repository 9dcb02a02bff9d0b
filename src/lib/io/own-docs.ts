/** The documentation that Postern ships, as Markdown pages. */
import { ownFilesIn, readOwnFile } from "./own-file.ts";

/** Folders of pages below `docs/`. "" is `docs/` itself. */
export const docsFolders = ["", "guides/", "concepts/", "architecture/", "reference/"] as const;

let listed: ReadonlySet<string> | undefined;

/** Names of the pages, such as `guides/agents.md`. */
export function docsPages(): ReadonlySet<string> {
  return (listed ??= new Set(
    docsFolders.flatMap((folder) =>
      ownFilesIn(`docs/${folder}`).flatMap((name) =>
        name.endsWith(".md") && !name.includes("/") ? [folder + name] : [],
      ),
    ),
  ));
}

/** Returns a page. Undefined if there is no such page. */
export function readDocsPage(name: string): Buffer | undefined {
  return docsPages().has(name) ? readOwnFile(`docs/${name}`) : undefined;
}
