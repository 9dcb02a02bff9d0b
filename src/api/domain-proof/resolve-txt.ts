import { Resolver } from "node:dns/promises";

/** Looks up a name's TXT records, each as one text. Rejects if there are none, or if no answer arrives in time. */
export type ResolveTxt = (name: string) => Promise<readonly string[]>;

const timeoutMs = 3_000;
const tries = 2;
/** Maximum number of records. Further records are ignored. */
const maxRecords = 100;

/** @param servers addresses of name servers; if empty, the system's */
export function makeResolveTxt(servers: readonly string[]): ResolveTxt {
  return async (name) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    const records = await resolver.resolveTxt(name);
    return records.slice(0, maxRecords).map((strings) => strings.join(""));
  };
}
