/** Serves the built pages of `console/` from memory, with headers that isolate them from other sites. */
import { listOwnFiles, readOwnFile } from "../lib/io/own-file.ts";

/** The built files; see `console/build.js`. */
const dist = "console/dist/";

export interface PageReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Pages {
  /**
   * Returns the file for a path, `/` for the page itself, or undefined.
   *
   * @param accepts the request's Accept-Encoding
   */
  get(path: string, accepts: string | undefined): PageReply | undefined;
}

interface PageFile {
  readonly type: string;
  readonly isPage: boolean;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** No inline code, no content of other sites, no framing (P9). */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const fixedHeaders = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  vary: "accept-encoding",
} as const;

/**
 * Reads the files of one page.
 * @param page its file in the build. Without a build, `/` responds with an explanation and status 503
 */
export function openPages(page: "index.html" | "inspector.html"): Pages {
  let files: ReadonlyMap<string, PageFile>;
  try {
    files = readAll(page);
  } catch {
    const body = Buffer.from("The pages are not built: run `npm ci` and start again.\n");
    const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
    return { get: (path) => (path === "/" ? { status: 503, headers, body } : undefined) };
  }
  return {
    get(path, accepts) {
      const file = files.get(path);
      if (!file) return undefined;
      const isGzipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(accepts ?? "");
      return {
        status: 200,
        headers: {
          ...fixedHeaders,
          "content-type": file.type,
          // The names of the other files change with their content.
          "cache-control": file.isPage ? "no-cache" : "public, max-age=31536000, immutable",
          ...(isGzipped && { "content-encoding": "gzip" }),
        },
        body: isGzipped ? file.gzipped : file.plain,
      };
    },
  };
}

function readAll(page: string): ReadonlyMap<string, PageFile> {
  const assets = listOwnFiles(`${dist}assets/`).filter((name) => !name.endsWith(".gz"));
  // Releases do not contain the page with all components.
  const hasKit = page === "index.html" && listOwnFiles(dist).includes("kit.html");
  return new Map([
    ["/", readOne(page)],
    ...(hasKit ? [["/console/kit", readOne("kit.html")] as const] : []),
    ...assets.map((name) => [`/assets/${name}`, readOne(`assets/${name}`)] as const),
  ]);
}

function readOne(name: string): PageFile {
  const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return {
    type,
    isPage: name.endsWith(".html"),
    plain: readOwnFile(`${dist}${name}`),
    gzipped: readOwnFile(`${dist}${name}.gz`),
  };
}
