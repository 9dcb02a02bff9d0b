/** Serves the built site on the loopback address, with the same URLs as a host for static pages. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { extname, join, normalize } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/** @param folder the built site */
export function serveSite(folder: string, port: number): Server {
  const server = createServer((request, response) => {
    const file = fileOf(folder, request.url ?? "/");
    const shown = file ?? join(folder, "404.html");
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": types[extname(shown)] ?? "application/octet-stream",
      "cache-control": "no-cache",
    });
    response.end(request.method === "HEAD" ? undefined : readFileSync(shown));
  });
  return server.listen(port, "127.0.0.1");
}

function fileOf(folder: string, target: string): string | undefined {
  let path: string;
  try {
    path = normalize(decodeURIComponent(new URL(target, "http://site").pathname));
  } catch {
    return undefined;
  }
  const candidates = [path, `${path}.html`, join(path, "index.html")].map((one) => join(folder, one));
  return candidates.find((one) => existsSync(one) && statSync(one).isFile());
}
