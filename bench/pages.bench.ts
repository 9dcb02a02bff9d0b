/** A page of a list of 100,000 objects costs the same at the beginning and at the end. */
import { api } from "./support/api-client.ts";
import { apiKey, startServer } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const objects = 100_000;
const perDocument = 2_000;
const perPage = 100;

const server = await startServer();
const { id: policy } = await api<{ id: string }>(server.apiUrl, "POST", "/ip_policies", {});
for (let made = 0; made < objects; made += perDocument) {
  const rules = Array.from({ length: perDocument }, (_, index) => {
    const at = made + index;
    const cidr = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}/32`;
    return [`rule-${at}`, { ip_policy_id: policy, cidr, action: "allow" }];
  });
  const document = { document: `rules-${made}`, objects: { ip_policy_rule: Object.fromEntries(rules) } };
  await api(server.apiUrl, "POST", "/apply", document);
}

/** Reads all pages. Returns the addresses of the first and the last. */
async function ends(): Promise<readonly [string, string]> {
  const first = `/ip_policy_rules?limit=${perPage}`;
  let last = first;
  let count = 0;
  for (let next: string | null = first; next !== null;) {
    last = next;
    const page: { readonly next_page_uri: string | null } = await api(server.apiUrl, "GET", next);
    count += 1;
    next = page.next_page_uri?.slice(server.apiUrl.length) ?? null;
  }
  if (count !== objects / perPage) throw new Error(`there are ${count} pages of ${perPage}, not ${objects / perPage}`);
  return [first, last];
}

const [first, last] = await ends();
const reading = (name: string, path: string) => ({
  name,
  async measure() {
    const before = cpuMicros(server.pid);
    const headers = [`Authorization: Bearer ${apiKey}`, "Service-Version: 2"];
    const result = await wrk(`${server.apiUrl}${path}`, { connections: 32, seconds: 3, headers });
    return { "CPU µs/page": (cpuMicros(server.pid) - before) / result.requests, "pages/s": result.perSecond };
  },
});
await wrk(`${server.apiUrl}${first}`, {
  connections: 32,
  seconds: 2,
  headers: [`Authorization: Bearer ${apiKey}`, "Service-Version: 2"],
});
const pages = ["page 1", `page ${objects / perPage}`] as const;
const samples = await interleave([reading(pages[0], first), reading(pages[1], last)], 5);
table(`Pages of ${perPage} of ${objects} objects`, samples, [["CPU µs/page", pages[1], pages[0], { atMost: 1.2 }]]);
await server.stop();
