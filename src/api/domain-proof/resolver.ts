import { Resolver } from "node:dns/promises";

/** Looks a name's TXT records up, each as one text. Rejects when there are none, or no answer in time. */
export type ResolveTxt = (name: string) => Promise<readonly string[]>;

const timeoutMs = 3_000;
const tries = 2;
/** More than any name has; those beyond are not looked at. */
const maxRecords = 100;

/** @param servers addresses of name servers; the system's if there are none */
export function makeResolveTxt(servers: readonly string[]): ResolveTxt {
  return async (name) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    const records = await resolver.resolveTxt(name);
    return records.slice(0, maxRecords).map((strings) => strings.join(""));
  };
}
