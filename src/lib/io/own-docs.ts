/** The documentation that Postern ships, as Markdown pages: files in the checkout, one compressed file elsewhere. */
import { brotliDecompressSync } from "node:zlib";
import { listOwnFiles, readOwnFile } from "./own-file.ts";

/** Folders of pages below `docs/`. "" is `docs/` itself. */
const folders = ["", "guides/", "concepts/", "architecture/", "reference/"] as const;

/** The index of the pages, which is no page itself. */
export const docsIndexName = "llms.txt";

/** In artifacts, a JSON object of all pages and the index. */
export const packedDocs = "docs/pages.json.br";

interface Docs {
  readonly pages: ReadonlySet<string>;
  read(name: string): string;
}

let opened: Docs | undefined;

/** Names of the pages, such as `guides/agents.md`. */
export function docsPages(): ReadonlySet<string> {
  return (opened ??= openDocs()).pages;
}

/** Returns a page or the index. Undefined if there is no such page. */
export function readDocs(name: string): string | undefined {
  return docsPages().has(name) || name === docsIndexName ? opened?.read(name) : undefined;
}

function openDocs(): Docs {
  const packed = readPacked();
  if (packed) {
    const texts = new Map(Object.entries(JSON.parse(brotliDecompressSync(packed).toString("utf8")) as object));
    const pages = new Set([...texts.keys()].filter((name) => name.endsWith(".md")));
    return { pages, read: (name) => String(texts.get(name)) };
  }
  const pages = folders.flatMap((folder) =>
    listOwnFiles(`docs/${folder}`).flatMap((name) => (name.endsWith(".md") ? [folder + name] : [])),
  );
  return { pages: new Set(pages), read: (name) => readOwnFile(`docs/${name}`).toString("utf8") };
}

/** Returns undefined in a checkout. */
function readPacked(): Buffer | undefined {
  try {
    return readOwnFile(packedDocs);
  } catch {
    return undefined;
  }
}
