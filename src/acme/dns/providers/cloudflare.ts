/** Cloudflare's API, version 4, with a token that may edit the zone's DNS. */
import { connectApi, readMember, objectsIn } from "../http-api.ts";
import { providerProblem, recordTtl } from "../dns-provider.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";

/** "An identical record already exists." */
const identical = 81_058;

export const cloudflare: ProviderKind = {
  needs: ["secret"],
  takes: ["url", "ca"],
  open(access, clock) {
    const send = connectApi({
      title: "Cloudflare",
      baseUrl: access.url ?? "https://api.cloudflare.com/client/v4",
      access,
      clock,
      headers: () => ({ authorization: `Bearer ${access.secret}` }),
      reason: (document) => readMember(objectsIn(readMember(document, "errors"))[0], "message"),
    });
    const zones = new Map<string, string>();
    const zoneId = async (zone: string): Promise<string> => {
      const known = zones.get(zone);
      if (known !== undefined) return known;
      const { json } = await send({ method: "GET", path: `/zones?name=${encodeURIComponent(zone)}` });
      const id = objectsIn(readMember(json, "result")).find((one) => one["name"] === zone)?.["id"];
      if (typeof id !== "string") throw providerProblem(`the Cloudflare token cannot read a zone "${zone}"`);
      zones.set(zone, id);
      return id;
    };
    const pathOf = async ({ zone }: DnsRecord): Promise<string> =>
      `/zones/${encodeURIComponent(await zoneId(zone))}/dns_records`;
    return {
      async present(record) {
        const { name, value } = record;
        // Cloudflare stores texts with their quotes.
        const body = { type: "TXT", name, content: `"${value}"`, ttl: recordTtl };
        const { status, json } = await send({ method: "POST", path: await pathOf(record), body, accepts: [400] });
        if (status !== 400) return;
        const [error] = objectsIn(readMember(json, "errors"));
        if (error?.["code"] === identical) return;
        const reason = error?.["message"];
        throw providerProblem(
          `Cloudflare rejects the record: ${typeof reason === "string" ? reason.slice(0, 300) : 400}`,
        );
      },
      async cleanup(record) {
        const path = await pathOf(record);
        const { json } = await send({
          method: "GET",
          path: `${path}?type=TXT&name=${encodeURIComponent(record.name)}`,
        });
        for (const { id, content } of objectsIn(readMember(json, "result"))) {
          if (String(content).replaceAll('"', "") !== record.value || typeof id !== "string") continue;
          await send({ method: "DELETE", path: `${path}/${encodeURIComponent(id)}`, accepts: [404] });
        }
      },
    };
  },
};
