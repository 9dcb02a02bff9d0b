/** Gandi's LiveDNS API, version 5, with a personal access token. It replaces all values of a name together. */
import { connectApi, readMember } from "../http-api.ts";
import { relativeName } from "../dns-provider.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";

/** Least that Gandi accepts, seconds. */
const leastTtl = 300;

export const gandi: ProviderKind = {
  needs: ["secret"],
  takes: ["url", "ca"],
  open(access, clock) {
    const send = connectApi({
      title: "Gandi",
      baseUrl: access.url ?? "https://api.gandi.net/v5/livedns",
      access,
      clock,
      headers: () => ({ authorization: `Bearer ${access.secret}` }),
      reason: (document) => readMember(document, "message"),
    });
    const pathOf = (record: DnsRecord): string =>
      `/domains/${encodeURIComponent(record.zone)}/records/${encodeURIComponent(relativeName(record) || "@")}/TXT`;
    const valuesAt = async (record: DnsRecord): Promise<readonly string[]> => {
      const { status, json } = await send({ method: "GET", path: pathOf(record), accepts: [404] });
      const values = status === 404 ? [] : readMember(json, "rrset_values");
      return Array.isArray(values) ? values.filter((one) => typeof one === "string") : [];
    };
    const put = async (record: DnsRecord, values: readonly string[]): Promise<void> => {
      const body = { rrset_values: values, rrset_ttl: leastTtl };
      await send({ method: "PUT", path: pathOf(record), body });
    };
    return {
      async present(record) {
        const values = await valuesAt(record);
        if (!values.includes(`"${record.value}"`)) await put(record, [...values, `"${record.value}"`]);
      },
      async cleanup(record) {
        const values = await valuesAt(record);
        const left = values.filter((one) => one !== `"${record.value}"`);
        if (left.length === values.length) return;
        if (left.length > 0) await put(record, left);
        else await send({ method: "DELETE", path: pathOf(record), accepts: [404] });
      },
    };
  },
};
