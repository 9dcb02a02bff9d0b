/** Hetzner's Cloud API, version 1, with a token of the project that has the zone. */
import { connectApi, readMember } from "../http-api.ts";
import { recordTtl, relativeName } from "../dns-provider.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";

export const hetzner: ProviderKind = {
  needs: ["secret"],
  takes: ["url", "ca"],
  open(access, clock) {
    const send = connectApi({
      title: "Hetzner",
      baseUrl: access.url ?? "https://api.hetzner.cloud/v1",
      access,
      clock,
      headers: () => ({ authorization: `Bearer ${access.secret}` }),
      reason: (document) => readMember(readMember(document, "error"), "message"),
    });
    const setOf = (record: DnsRecord): string =>
      `/zones/${encodeURIComponent(record.zone)}/rrsets/${encodeURIComponent(relativeName(record) || "@")}/TXT`;
    return {
      async present(record) {
        const { status, json } = await send({ method: "GET", path: setOf(record), accepts: [404] });
        if (status === 200 && valuesOf(json).includes(`"${record.value}"`)) return;
        const ttl = status === 404 ? { ttl: recordTtl } : {};
        const body = { records: [{ value: `"${record.value}"` }], ...ttl };
        await send({ method: "POST", path: `${setOf(record)}/actions/add_records`, body });
      },
      async cleanup(record) {
        const { status, json } = await send({ method: "GET", path: setOf(record), accepts: [404] });
        if (status === 404 || !valuesOf(json).includes(`"${record.value}"`)) return;
        const body = { records: [{ value: `"${record.value}"` }] };
        await send({ method: "POST", path: `${setOf(record)}/actions/remove_records`, body, accepts: [404] });
      },
    };
  },
};

function valuesOf(document: unknown): readonly unknown[] {
  const records = readMember(readMember(document, "rrset"), "records");
  return Array.isArray(records) ? records.map((one) => readMember(one, "value")) : [];
}
