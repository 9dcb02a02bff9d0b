import type { Log } from "../../lib/log.ts";

/** Warns if a server runs from its sources. The launcher passes the path of the running file as the first argument. */
export function warnOfSources(log: Log): void {
  if (!process.argv[1]?.endsWith(".ts")) return;
  log.warn(
    "running from sources, which uses more memory and starts more slowly: run `npm run bundle` as the checkout's owner",
  );
}
