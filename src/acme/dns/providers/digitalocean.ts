/** DigitalOcean's API, version 2, with a token for the scope `domain`. */
import { connectApi, readMember, objectsIn } from "../http-api.ts";
import { recordTtl, relativeName } from "../dns-provider.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";

export const digitalocean: ProviderKind = {
  needs: ["secret"],
  takes: ["url", "ca"],
  open(access, clock) {
    const send = connectApi({
      title: "DigitalOcean",
      baseUrl: access.url ?? "https://api.digitalocean.com/v2",
      access,
      clock,
      headers: () => ({ authorization: `Bearer ${access.secret}` }),
      reason: (document) => readMember(document, "message"),
    });
    const pathOf = ({ zone }: DnsRecord): string => `/domains/${encodeURIComponent(zone)}/records`;
    const present = async (record: DnsRecord): Promise<readonly number[]> => {
      const query = `type=TXT&name=${encodeURIComponent(record.name)}&per_page=200`;
      const { json } = await send({ method: "GET", path: `${pathOf(record)}?${query}` });
      const found = objectsIn(readMember(json, "domain_records")).filter(({ data }) => data === record.value);
      return found.map(({ id }) => id).filter((id) => typeof id === "number");
    };
    return {
      async present(record) {
        if ((await present(record)).length > 0) return;
        const body = { type: "TXT", name: relativeName(record) || "@", data: record.value, ttl: recordTtl };
        await send({ method: "POST", path: pathOf(record), body });
      },
      async cleanup(record) {
        for (const id of await present(record)) {
          await send({ method: "DELETE", path: `${pathOf(record)}/${id}`, accepts: [404] });
        }
      },
    };
  },
};
