/**
 * Serves a directory (`file://DIR`). Names that start with a dot are hidden, and symbolic links are followed only to
 * targets inside the directory.
 */
import { createReadStream } from "node:fs";
import type { Stats } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { pipeline } from "node:stream";
import { localService } from "./local-service.ts";
import type { LocalService } from "./local-service.ts";

const types: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".css": "text/css; charset=utf-8",
  ".csv": "text/csv; charset=utf-8",
  ".gif": "image/gif",
  ".htm": "text/html; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
  ".xml": "application/xml",
};

const maxListed = 10_000;

/** @param directory absolute path, read again for each request */
export function staticFiles(directory: string): LocalService {
  return localService({
    request(request, response) {
      // Browsers must not guess a different content type.
      response.setHeader("x-content-type-options", "nosniff");
      serveFile(directory, request, response).catch(() => {
        if (response.headersSent) response.destroy();
        else endResponse(response, 500, "The file could not be read.\n");
      });
    },
  });
}

async function serveFile(directory: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return endResponse(response, 405, "Files here are read-only.\n");
  }
  const [path, query] = (request.url ?? "/").split("?", 2) as [string, string | undefined];
  const names = namesOf(path);
  const found = names && (await findFile(directory, names));
  if (!found) return endResponse(response, 404, "This file does not exist.\n");
  if (!found.stats.isDirectory()) return await sendFile(found, request, response);
  if (!path.endsWith("/")) {
    // Without the slash, relative links of the page would resolve against the parent.
    response.setHeader("location", `${path.replace(/^\/+/, "/")}/${query === undefined ? "" : `?${query}`}`);
    return endResponse(response, 301, "");
  }
  const index = await findFile(directory, [...(names as string[]), "index.html"]);
  if (index?.stats.isFile()) return await sendFile(index, request, response);
  await sendList(found.path, names as string[], request, response);
}

/** Splits a path into names. Returns undefined for a path that cannot lie in the directory. */
function namesOf(path: string): string[] | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  if (/[\0\\]/.test(decoded)) return undefined;
  const names = decoded.split("/").filter((name) => name !== "");
  return names.some((name) => name.startsWith(".")) ? undefined : names;
}

interface StaticFile {
  readonly path: string;
  readonly stats: Stats;
}

async function findFile(directory: string, names: readonly string[]): Promise<StaticFile | undefined> {
  try {
    const [root, path] = await Promise.all([realpath(directory), realpath(join(directory, ...names))]);
    const inside = relative(root, path);
    // A symbolic link may lead to a hidden file or out of the directory.
    if (inside.split(sep).some((name) => name.startsWith("."))) return undefined;
    const stats = await lstat(path);
    return stats.isFile() || stats.isDirectory() ? { path, stats } : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG"].includes(code)) return undefined;
    throw error;
  }
}

async function sendFile({ path }: StaticFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const handle = await open(path, "r");
  try {
    await sendOpened(handle, path, request, response);
  } finally {
    await handle.close().catch(() => {});
  }
}

async function sendOpened(
  handle: FileHandle,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { size, mtime, mtimeMs, ino } = await handle.stat();
  const etag = `"${ino.toString(36)}-${size.toString(36)}-${Math.round(mtimeMs).toString(36)}"`;
  const modified = Math.floor(mtimeMs / 1000) * 1000;
  response.setHeader("etag", etag);
  response.setHeader("last-modified", mtime.toUTCString());
  response.setHeader("accept-ranges", "bytes");
  response.setHeader("cache-control", "no-cache");
  response.setHeader("content-type", types[extname(path).toLowerCase()] ?? "application/octet-stream");
  const condition = conditionOf(request, etag, modified);
  if (condition !== undefined) {
    if (condition === 304) response.removeHeader("content-type");
    return endResponse(response, condition, "");
  }
  const range = rangeOf(request, size, etag, modified);
  if (range === "unsatisfiable") {
    response.setHeader("content-range", `bytes */${size}`);
    return endResponse(response, 416, "");
  }
  const { start, last } = range ?? { start: 0, last: size - 1 };
  if (range) response.setHeader("content-range", `bytes ${start}-${last}/${size}`);
  response.writeHead(range ? 206 : 200, { "content-length": last - start + 1 });
  if (request.method === "HEAD" || size === 0) return void response.end();
  const file = createReadStream(path, { fd: handle.fd, autoClose: false, start, end: last });
  await new Promise<void>((resolve) => pipeline(file, response, () => resolve()));
}

/** Evaluates the preconditions in the order of RFC 9110 §13.2.2. */
function conditionOf({ headers }: IncomingMessage, etag: string, modified: number): 304 | 412 | undefined {
  const match = headers["if-match"];
  const unmodifiedSince = Date.parse(headers["if-unmodified-since"] ?? "");
  if (match !== undefined) {
    if (match !== "*" && !listOf(match).includes(etag)) return 412;
  } else if (modified > unmodifiedSince) return 412;
  const noneMatch = headers["if-none-match"];
  if (noneMatch !== undefined) {
    const tags = listOf(noneMatch).map((tag) => tag.replace(/^W\//, ""));
    return noneMatch === "*" || tags.includes(etag) ? 304 : undefined;
  }
  return modified <= Date.parse(headers["if-modified-since"] ?? "") ? 304 : undefined;
}

function listOf(tags: string): string[] {
  return tags.split(",").map((tag) => tag.trim());
}

/** Parses one range of RFC 9110 §14.1.2. Several ranges, and invalid ones, get the whole file (§14.2). */
function rangeOf(
  { method, headers }: IncomingMessage,
  size: number,
  etag: string,
  modified: number,
): { readonly start: number; readonly last: number } | "unsatisfiable" | undefined {
  const { range, "if-range": ifRange } = headers;
  if (range === undefined || method !== "GET") return undefined;
  if (typeof ifRange === "string" && ifRange !== etag && Date.parse(ifRange) !== modified) return undefined;
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range.trim()) ?? [];
  if (from === "" && to === "") return undefined;
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, last: size - 1 };
  }
  const [start, last] = [Number(from), to === "" ? size - 1 : Math.min(Number(to), size - 1)];
  if (to !== "" && Number(to) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, last };
}

async function sendList(
  path: string,
  names: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const entries = (await readdir(path, { withFileTypes: true }))
    .filter(({ name }) => !name.startsWith("."))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .toSorted()
    .slice(0, maxListed);
  const title = escapeHtml(`/${names.map((name) => `${name}/`).join("")}`);
  const links = [...(names.length > 0 ? ["../"] : []), ...entries].map((name) => {
    const href = name.split("/").map(encodeURIComponent).join("/");
    return `<li><a href="./${href}">${escapeHtml(name)}</a></li>`;
  });
  const page = `<!doctype html>\n<meta charset="utf-8">\n<title>${title}</title>\n<h1>${title}</h1>\n<ul>\n${links.join("\n")}\n</ul>\n`;
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.setHeader("content-security-policy", "default-src 'none'");
  endResponse(response, 200, page, request.method === "HEAD");
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function endResponse(response: ServerResponse, status: number, text: string, headOnly = false): void {
  if (text !== "" && !response.hasHeader("content-type"))
    response.setHeader("content-type", "text/plain; charset=utf-8");
  response.writeHead(status, status === 304 ? {} : { "content-length": Buffer.byteLength(text) });
  response.end(headOnly || status === 304 ? undefined : text);
}
