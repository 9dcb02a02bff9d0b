/** APIs of DNS providers for the zone `example.com`, as strict as the real ones about credentials, paths and bodies. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { Body } from "./api.ts";
import { signatureFault } from "./sigv4.ts";

export type ApiName = "acme-dns" | "cloudflare" | "digitalocean" | "gandi" | "hetzner" | "route53" | "webhook";

export interface DnsApis {
  readonly ca: string;
  readonly secret: string;
  readonly key: string;
  /** Base URL of one API. */
  url(name: ApiName): string;
  /** TXT records by full name. */
  readonly texts: Map<string, string[]>;
  /** Errors in requests, which got 400. */
  readonly faults: string[];
  /** Response to all next requests instead of the normal one; "silence" for none. */
  answer:
    | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }
    | "silence"
    | undefined;
  readonly calls: string[];
  stop(): Promise<void>;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly target: string;
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

class Unauthorized extends Error {}

const zone = "example.com";
const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const key = "AKIAIOSFODNN7EXAMPLE";

export async function startDnsApis(): Promise<DnsApis> {
  const authority = await createAuthority({ commonName: "DNS APIs", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], days: 1, now: Date.now() });
  const texts = new Map<string, string[]>();
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const { method = "", url: target = "", headers } = request;
      const { pathname, searchParams: query } = new URL(target, "https://localhost");
      const [, name = ""] = pathname.split("/");
      apis.calls.push(`${method} ${target}`);
      if (apis.answer === "silence") return;
      if (apis.answer) {
        response.writeHead(apis.answer.status, apis.answer.headers).end(apis.answer.body);
        return;
      }
      let reply: Reply;
      try {
        if (text !== "") assert.equal(Number(headers["content-length"]), Buffer.byteLength(text));
        const handler = handlers[name as ApiName];
        reply = handler(
          { method, path: decodeURIComponent(pathname.slice(name.length + 1)), query, headers, text, target },
          texts,
        );
      } catch (thrown) {
        if (thrown instanceof Unauthorized) {
          const message = "Unable to authenticate you";
          const error = name === "acme-dns" ? message : { message };
          const body = { id: "unauthorized", message, error, errors: [{ code: 10_000, message }] };
          reply = { status: 401, body };
        } else {
          apis.faults.push((thrown as Error).message);
          reply = { status: 400, body: { message: (thrown as Error).message } };
        }
      }
      const body =
        typeof reply.body === "string" ? reply.body : reply.body === undefined ? "" : JSON.stringify(reply.body);
      response.writeHead(reply.status, { "content-type": "application/json" }).end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const apis: DnsApis = {
    ca: authority.certificatePem,
    secret,
    key,
    url: (name) => `${origin}/${name}`,
    texts,
    faults: [],
    answer: undefined,
    calls: [],
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return apis;
}

type Texts = Map<string, string[]>;

const handlers: Readonly<Record<ApiName, (call: Call, texts: Texts) => Reply>> = {
  cloudflare(call, texts) {
    bearer(call);
    const done = (result: unknown, status = 200): Reply => ({
      status,
      body: { success: true, errors: [], messages: [], result },
    });
    if (call.path === "/zones") {
      assert.equal(call.method, "GET");
      return done(call.query.get("name") === zone ? [{ id: "023e105f4ecef8ad9ca31a8372d0c353", name: zone }] : []);
    }
    const [, id, rest = ""] = /^\/zones\/([0-9a-f]{32})\/dns_records(?:\/(.+))?$/.exec(call.path) ?? [];
    assert.equal(id, "023e105f4ecef8ad9ca31a8372d0c353");
    if (call.method === "POST") {
      const { type, name, content, ttl } = jsonOf(call, ["type", "name", "content", "ttl"]);
      assert.equal(type, "TXT");
      assert.ok(ttl === 1 || (ttl >= 60 && ttl <= 86_400));
      const value = unquoted(content);
      if (texts.get(name)?.includes(value)) {
        const errors = [{ code: 81_058, message: "An identical record already exists." }];
        return { status: 400, body: { success: false, errors, messages: [], result: null } };
      }
      add(texts, name, value);
      return done({ id: idOf(name, value), type, name, content, ttl });
    }
    if (call.method === "DELETE") {
      const [name, value] = fromId(rest);
      assert.ok(texts.get(name)?.includes(value));
      remove(texts, name, value);
      return done({ id: rest });
    }
    assert.equal(call.query.get("type"), "TXT");
    const name = call.query.get("name") ?? "";
    return done(
      (texts.get(name) ?? []).map((value) => ({ id: idOf(name, value), type: "TXT", name, content: `"${value}"` })),
    );
  },
  digitalocean(call, texts) {
    bearer(call);
    const [, id] = /^\/domains\/example\.com\/records(?:\/(\d+))?$/.exec(call.path) ?? assert.fail(call.path);
    const all = [...texts].flatMap(([name, values]) =>
      values.map((value) => ({ id: numberOf(name + value), name, value })),
    );
    if (call.method === "GET") {
      assert.equal(call.query.get("type"), "TXT");
      const found = all.filter(({ name }) => name === call.query.get("name"));
      const domain_records = found.map(({ id: number, name, value }) => ({
        id: number,
        type: "TXT",
        name: relative(name),
        data: value,
        ttl: 120,
      }));
      return { status: 200, body: { domain_records, links: {}, meta: { total: found.length } } };
    }
    if (call.method === "POST") {
      const { type, name, data, ttl } = jsonOf(call, ["type", "name", "data", "ttl"]);
      assert.equal(type, "TXT");
      assert.ok(ttl >= 30 && !String(data).includes('"') && !String(name).endsWith("."));
      add(texts, absolute(name), data);
      return { status: 201, body: { domain_record: { id: numberOf(absolute(name) + data), type, name, data, ttl } } };
    }
    assert.equal(call.method, "DELETE");
    const found = all.find((one) => String(one.id) === id);
    if (!found)
      return { status: 404, body: { id: "not_found", message: "The resource you requested could not be found." } };
    remove(texts, found.name, found.value);
    return { status: 204 };
  },
  hetzner(call, texts) {
    bearer(call);
    const match = /^\/zones\/example\.com\/rrsets\/([^/]+)\/TXT(?:\/actions\/(add|remove)_records)?$/.exec(call.path);
    const [, name = "", action] = match ?? assert.fail(call.path);
    const values = texts.get(absolute(name)) ?? [];
    const missing = { status: 404, body: { error: { code: "not_found", message: "rrset not found" } } };
    if (action === undefined) {
      assert.equal(call.method, "GET");
      if (values.length === 0) return missing;
      const records = values.map((value) => ({ value: `"${value}"`, comment: "" }));
      return { status: 200, body: { rrset: { id: `${name}/TXT`, name, type: "TXT", ttl: 120, records } } };
    }
    assert.equal(call.method, "POST");
    const { records, ttl, ...rest } = JSON.parse(call.text) as Body;
    assert.deepEqual(rest, {});
    if (values.length === 0 && action === "remove") return missing;
    // A time to live is only accepted for a new set.
    assert.ok(ttl === undefined || (values.length === 0 && ttl >= 60));
    for (const { value } of records) {
      if (action === "add") {
        assert.ok(!values.includes(unquoted(value)));
        add(texts, absolute(name), unquoted(value));
      } else remove(texts, absolute(name), unquoted(value));
    }
    return { status: 201, body: { action: { id: 1, command: `${action}_rrset_records`, status: "running" } } };
  },
  gandi(call, texts) {
    bearer(call);
    const [, name = ""] = /^\/domains\/example\.com\/records\/([^/]+)\/TXT$/.exec(call.path) ?? assert.fail(call.path);
    const values = texts.get(absolute(name));
    if (call.method === "PUT") {
      const { rrset_values, rrset_ttl } = jsonOf(call, ["rrset_values", "rrset_ttl"]);
      assert.ok(rrset_ttl >= 300 && rrset_values.length > 0);
      texts.set(absolute(name), rrset_values.map(unquoted));
      return { status: 201, body: { message: "DNS Record Created" } };
    }
    if (!values)
      return { status: 404, body: { code: 404, message: "Can't find the DNS record", object: "dns-record" } };
    if (call.method === "DELETE") {
      texts.delete(absolute(name));
      return { status: 204 };
    }
    assert.equal(call.method, "GET");
    const rrset_values = values.map((value) => `"${value}"`);
    return { status: 200, body: { rrset_name: name, rrset_type: "TXT", rrset_ttl: 300, rrset_values } };
  },
  route53: (call, texts) => route53(call, texts),
  "acme-dns"(call, texts) {
    assert.deepEqual([call.method, call.path], ["POST", "/update"]);
    if (call.headers["x-api-key"] !== secret || call.headers["x-api-user"] !== key) throw new Unauthorized();
    const { subdomain, txt } = jsonOf(call, ["subdomain", "txt"]);
    assert.match(txt, /^[\w-]{43}$/);
    const name = `${subdomain}.example.com`;
    texts.set(name, [...(texts.get(name) ?? []).filter((one) => one !== txt), txt].slice(-2));
    return { status: 200, body: { txt } };
  },
  webhook(call, texts) {
    bearer(call);
    assert.equal(call.method, "POST");
    const { fqdn, value } = jsonOf(call, ["fqdn", "value"]);
    const name = String(fqdn).replace(/\.$/, "");
    assert.notEqual(name, fqdn);
    if (call.path === "/present") add(texts, name, value);
    else {
      assert.equal(call.path, "/cleanup");
      remove(texts, name, value);
    }
    return { status: 200 };
  },
};

function route53(call: Call, texts: Texts): Reply {
  const nowMs = Date.now();
  const expected = { accessKeyId: key, secretAccessKey: secret, region: "us-east-1", service: "route53", nowMs };
  const fault = signatureFault({ ...call, body: call.text }, expected);
  const failed = (status: number, code: string, message: string): Reply => ({
    status,
    body: `<?xml version="1.0"?>\n<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
  });
  if (fault !== undefined) return failed(403, "SignatureDoesNotMatch", "Unable to authenticate you");
  const zoneId = "/hostedzone/Z1D633PJN98FT9";
  if (call.path === "/2013-04-01/hostedzonesbyname") {
    const entry = (id: string, isPrivate: boolean): string =>
      `<HostedZone><Id>${id}</Id><Name>example.com.</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`;
    const other = "<HostedZone><Id>/hostedzone/ZOTHER</Id><Name>other.com.</Name></HostedZone>";
    const found =
      call.query.get("dnsname") === "example.com." ? entry("/hostedzone/ZPRIVATE", true) + entry(zoneId, false) : "";
    return {
      status: 200,
      body: `<ListHostedZonesByNameResponse><HostedZones>${found}${other}</HostedZones></ListHostedZonesByNameResponse>`,
    };
  }
  if (call.method === "GET") {
    assert.equal(call.path, `/2013-04-01${zoneId}/rrset`);
    const name = (call.query.get("name") ?? "").replace(/\.$/, "");
    const values = texts.get(name);
    const shown = (values ?? ["other"]).map(
      (value) => `<ResourceRecord><Value>&quot;${value}&quot;</Value></ResourceRecord>`,
    );
    // The list starts at the name, and goes on with the next ones.
    const set = `<Name>${values ? name : "zzz.example.com"}.</Name><Type>TXT</Type><TTL>120</TTL>`;
    const sets = `<ResourceRecordSet>${set}<ResourceRecords>${shown.join("")}</ResourceRecords></ResourceRecordSet>`;
    return {
      status: 200,
      body: `<ListResourceRecordSetsResponse><ResourceRecordSets>${sets}</ResourceRecordSets></ListResourceRecordSetsResponse>`,
    };
  }
  assert.deepEqual([call.method, call.path], ["POST", `/2013-04-01${zoneId}/rrset/`]);
  const form =
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<ChangeResourceRecordSetsRequest xmlns="https:\/\/route53\.amazonaws\.com\/doc\/2013-04-01\/"><ChangeBatch><Changes><Change><Action>(UPSERT|DELETE)<\/Action><ResourceRecordSet><Name>([^<]+)\.<\/Name><Type>TXT<\/Type><TTL>(\d+)<\/TTL><ResourceRecords>(.+)<\/ResourceRecords><\/ResourceRecordSet><\/Change><\/Changes><\/ChangeBatch><\/ChangeResourceRecordSetsRequest>$/;
  const [, action, name = "", ttl, records = ""] = form.exec(call.text) ?? assert.fail(call.text);
  const values = [...records.matchAll(/<ResourceRecord><Value>&quot;([^&]+)&quot;<\/Value><\/ResourceRecord>/g)].map(
    ([, value]) => value as string,
  );
  assert.equal(ttl, "120");
  if (action === "DELETE") {
    if (String(texts.get(name)) !== String(values)) return failed(400, "InvalidChangeBatch", "values do not match");
    texts.delete(name);
  } else texts.set(name, values);
  return { status: 200, body: "<ChangeResourceRecordSetsResponse/>" };
}

function bearer({ headers }: Call): void {
  if (headers.authorization !== `Bearer ${secret}`) throw new Unauthorized();
}

function jsonOf({ headers, text }: Call, members: readonly string[]): Body {
  assert.equal(headers["content-type"], "application/json");
  const body = JSON.parse(text) as Body;
  assert.deepEqual(Object.keys(body).toSorted(), [...members].toSorted());
  return body;
}

function unquoted(content: string): string {
  const [, value] = /^"([\w-]{1,255})"$/.exec(content) ?? assert.fail(`${content} is not quoted`);
  return value as string;
}

function add(texts: Texts, name: string, value: string): void {
  assert.ok(name.endsWith(`.${zone}`), name);
  texts.set(name, [...(texts.get(name) ?? []), value]);
}

function remove(texts: Texts, name: string, value: string): void {
  const left = (texts.get(name) ?? []).filter((one) => one !== value);
  if (left.length > 0) texts.set(name, left);
  else texts.delete(name);
}

function idOf(name: string, value: string): string {
  return Buffer.from(JSON.stringify([name, value])).toString("hex");
}

function fromId(id: string): [string, string] {
  return JSON.parse(Buffer.from(id, "hex").toString()) as [string, string];
}

function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}

function relative(name: string): string {
  return name.slice(0, -zone.length - 1);
}

function absolute(name: string): string {
  return `${name}.${zone}`;
}
