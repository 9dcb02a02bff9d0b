/** Parses what users ask to publish: a service, a directory, or several of them by path. */
import { statSync } from "node:fs";
import { runUnattended } from "../lib/boundary.ts";
import type { LocalService } from "./local-service.ts";
import type { PathTarget } from "./path-switch.ts";
import { parseUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/**
 * Parses one target, or several that each start with a path, except for at most one: `3000 /api=3001
 * /docs=file:///srv/docs`. Throws an `Error` that states the expected form.
 */
export function parseTargets(texts: readonly string[]): Upstream {
  const [only = ""] = texts;
  if (texts.length === 1 && !only.startsWith("/")) return parseTarget(only);
  const targets = texts.map(parsePathTarget);
  const twice = targets.find(({ prefix }, at) => targets.findIndex((one) => one.prefix === prefix) !== at);
  if (twice?.prefix === "/") throw new Error("must begin with a path, such as /api=3001, for all targets but one");
  if (twice) throw new Error(`must not have two targets at "${twice.prefix}"`);
  const http2 = targets.find(({ upstream }) => upstream.http2);
  if (http2) throw new Error(`must not include ${http2.upstream.text}: an HTTP/2 target must be the only target`);
  return {
    host: "",
    port: 0,
    tls: false,
    text: targets.map(({ prefix, upstream }) => `${prefix}=${upstream.text}`).join(" "),
    local: startLazily(async () => (await import("./path-switch.ts")).pathSwitch(targets)),
  };
}

function parsePathTarget(text: string): PathTarget {
  const [, path, target] = /^(\/[^=]*)=(.+)$/.exec(text) ?? [];
  if (path === undefined || target === undefined) {
    if (text.startsWith("/")) throw new Error("must be PATH=TARGET, such as /api=3001");
    return { prefix: "/", upstream: parseTarget(text) };
  }
  if (/[?#%\\\s]/.test(path)) throw new Error(`must be a path without query or escapes: "${path}"`);
  return { prefix: path === "/" ? path : path.replace(/\/+$/, ""), upstream: parseTarget(target) };
}

function parseTarget(text: string): Upstream {
  if (!/^file:/i.test(text)) return parseUpstream(text);
  const directory = /^file:\/\/(\/.*)$/i.exec(text)?.[1];
  if (directory === undefined) throw new Error("must be file:// and the absolute path of a directory");
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new Error(`must be an existing directory: there is no directory "${directory}"`);
  }
  const local = startLazily(async () => (await import("./static-files.ts")).staticFiles(directory));
  return { host: "", port: 0, tls: false, text: `file://${directory}`, local };
}

/** Makes the service for the first connection that needs it, also after it was closed: a tunnel can come back. */
export function startLazily(make: () => Promise<LocalService>): LocalService {
  let made: Promise<LocalService> | undefined;
  return {
    serve(connection) {
      made ??= make();
      const served = made.then((service) => service.serve(connection));
      runUnattended("connection", served, () => connection.destroy());
    },
    async close() {
      const last = made;
      made = undefined;
      await (await last)?.close?.();
    },
  };
}
