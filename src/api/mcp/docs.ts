/** The documentation of this version as Markdown, each page at its place below `/docs/`, and its index `/llms.txt`. */
import { Refusal } from "../../lib/errors.ts";
import { docsIndexName, readDocs } from "../../lib/io/own-docs.ts";
import type { Front } from "../http/front.ts";

/** How long clients may cache a page, seconds. */
const cacheSeconds = 300;

/** Open to everyone, because the pages are those of the public documentation. */
export const replyWithDocs: Front["reply"] = ({ request }, path) => {
  const isIndex = path === "/llms.txt";
  if (!isIndex && !(path.startsWith("/docs/") && path.endsWith(".md"))) return undefined;
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  return {
    run: async () => {
      const body = readDocs(isIndex ? docsIndexName : path.slice("/docs/".length));
      if (body === undefined)
        throw new Refusal("unknown_path", `there is no page ${JSON.stringify(path.slice(0, 128))}`);
      return {
        status: 200,
        body,
        contentType: `text/${isIndex ? "plain" : "markdown"}; charset=utf-8`,
        cacheControl: `public, max-age=${cacheSeconds}`,
      };
    },
  };
};
