/** Amazon Route 53, API version 2013-04-01. It replaces all values of a name together. */
import type { Clock } from "../../../lib/clock.ts";
import { signHeaders } from "../../../outbound/aws-signature.ts";
import { connectApi } from "../http-api.ts";
import type { SendToApi } from "../http-api.ts";
import { providerProblem, recordTtl } from "../dns-provider.ts";
import type { DnsRecord, ProviderAccess, ProviderKind } from "../dns-provider.ts";

const version = "/2013-04-01";
const namespace = `https://route53.amazonaws.com/doc${version}/`;

interface RecordSet {
  readonly values: readonly string[];
  readonly ttl: number;
}

export const route53: ProviderKind = {
  needs: ["key", "secret"],
  takes: ["url", "ca"],
  open(access, clock) {
    const send = connect(access, clock);
    const zones = new Map<string, string>();
    const zoneId = async (zone: string): Promise<string> => {
      const known = zones.get(zone);
      if (known !== undefined) return known;
      const { text } = await send({ method: "GET", path: `${version}/hostedzonesbyname?dnsname=${zone}.&maxitems=10` });
      const id = readElements(text, "HostedZone")
        .filter((one) => readElement(one, "Name") === `${zone}.` && readElement(one, "PrivateZone") !== "true")
        .map((one) => /^\/hostedzone\/([A-Z0-9]{1,32})$/.exec(readElement(one, "Id") ?? "")?.[1])[0];
      if (id === undefined) throw providerProblem(`Route 53 has no public hosted zone "${zone}" for this key`);
      zones.set(zone, id);
      return id;
    };
    const read = async (id: string, { name }: DnsRecord): Promise<RecordSet> => {
      const path = `${version}/hostedzone/${id}/rrset?maxitems=1&name=${name}.&type=TXT`;
      const [set = ""] = readElements((await send({ method: "GET", path })).text, "ResourceRecordSet");
      const isSame = readElement(set, "Name") === `${name}.` && readElement(set, "Type") === "TXT";
      if (!isSame) return { values: [], ttl: recordTtl };
      const values = readElements(set, "Value").map(unescapeXml);
      return { values, ttl: Number(readElement(set, "TTL") ?? recordTtl) };
    };
    const change = async (
      id: string,
      action: string,
      { name }: DnsRecord,
      { values, ttl }: RecordSet,
    ): Promise<void> => {
      const records = values.map((one) => `<ResourceRecord><Value>${escapeXml(one)}</Value></ResourceRecord>`).join("");
      const set = `<Name>${name}.</Name><Type>TXT</Type><TTL>${ttl}</TTL><ResourceRecords>${records}</ResourceRecords>`;
      const one = `<Change><Action>${action}</Action><ResourceRecordSet>${set}</ResourceRecordSet></Change>`;
      const batch = `<ChangeBatch><Changes>${one}</Changes></ChangeBatch>`;
      const body = `<?xml version="1.0" encoding="UTF-8"?>\n<ChangeResourceRecordSetsRequest xmlns="${namespace}">${batch}</ChangeResourceRecordSetsRequest>`;
      await send({ method: "POST", path: `${version}/hostedzone/${id}/rrset/`, body });
    };
    return {
      async present(record) {
        const id = await zoneId(record.zone);
        const { values, ttl } = await read(id, record);
        if (values.includes(`"${record.value}"`)) return;
        await change(id, "UPSERT", record, { values: [...values, `"${record.value}"`], ttl });
      },
      async cleanup(record) {
        const id = await zoneId(record.zone);
        const found = await read(id, record);
        const left = found.values.filter((one) => one !== `"${record.value}"`);
        if (left.length === found.values.length) return;
        // A deletion must state the whole set as it is.
        if (left.length === 0) await change(id, "DELETE", record, found);
        else await change(id, "UPSERT", record, { ...found, values: left });
      },
    };
  },
};

function connect(access: ProviderAccess, clock: Clock): SendToApi {
  const keys = { accessKeyId: access.key as string, secretAccessKey: access.secret as string };
  return connectApi({
    title: "Route 53",
    baseUrl: access.url ?? "https://route53.amazonaws.com",
    access,
    clock,
    // Route 53 is a global service, whose requests are signed for this region.
    headers: ({ method, url, body }) =>
      signHeaders({
        method,
        url,
        body,
        service: "route53",
        region: "us-east-1",
        keys,
        headers: body === "" ? {} : { "content-type": "application/xml" },
        nowMs: clock.now(),
      }),
    reason: (_document, text) => readElement(text, "Message"),
  });
}

/** Returns the contents of all elements of this name. The API's documents have no attributes, comments or CDATA here. */
function readElements(xml: string, name: string): readonly string[] {
  const parts = xml.split(`<${name}>`).slice(1);
  return parts.map((part) => part.slice(0, Math.max(0, part.indexOf(`</${name}>`))));
}

function readElement(xml: string, name: string): string | undefined {
  return readElements(xml, name)[0];
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (one) => escapes[one] as string);
}

function unescapeXml(text: string): string {
  return text.replaceAll(
    /&(?:amp|lt|gt|quot);/g,
    (one) => Object.keys(escapes).find((key) => escapes[key] === one) ?? one,
  );
}
