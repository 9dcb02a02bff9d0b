/** Inputs that the declarations accept, for the description of the API and for tests that cover it. */
import type { Field, Fields } from "../../schema/fields.ts";
import { inputName } from "../../schema/doc.ts";
import { resourceNamed } from "./resource-declarations.ts";

/** Returns an id that stands for an object of `kind`. */
export type ExampleId = (kind: string) => string;

/** The part of an id after its prefix. */
const idTail = "0f6yvqk3c5a9m2x7p4r8t1w6z0b";

/** Returns a well-formed id of an object that does not exist. */
export const exampleId: ExampleId = (kind) => `${resourceNamed(kind).idPrefix}_${idTail}`;

export const exampleOperationId = `op_${idTail}`;

/** Creation time of the objects in examples. */
export const exampleTime = "2026-01-01T00:00:00Z";

/** Texts of fields without a format. */
const texts: Readonly<Record<string, string>> = {
  name: "staging",
  description: "For the staging environment.",
  metadata: '{"team":"web"}',
  vault_name: "production",
  region: "local",
  body: "Back soon.",
  error: "",
  private_key_pem: "-----BEGIN PRIVATE KEY-----\nMIIB…\n-----END PRIVATE KEY-----\n",
  subject_common_name: "app.example.com",
  subject_organization: "Example",
  subject_organizational_unit: "Web",
  subject_locality: "Berlin",
  subject_province: "Berlin",
  subject_country: "DE",
  issuer_common_name: "Example CA",
  serial_number: "04d2162e",
  private_key_type: "ecdsa",
  key_usages: "digital_signature",
  extended_key_usages: "server_auth",
  dns_names: "app.example.com",
  ips: "192.0.2.1",
  addr: "tcp.example.com:20000",
  url: "https://app.example.com",
  public_url: "https://app.example.com",
  proto: "https",
  scheme: "https",
  host: "app.example.com",
  hostport: "app.example.com:443",
  bindings: "public",
  ip: "192.0.2.1",
  ip_address: "192.0.2.1",
  os: "linux",
  agent_version: "0.1.0",
  transport: "ngrok/2",
  forwards_to: "http://localhost:8080",
  username: "alice",
  email: "alice@example.com",
  provider_user_id: "1234567",
  raw: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  browser_name: "Firefox",
  browser_version: "140.0",
  device_type: "desktop",
  os_name: "Linux",
  os_version: "6.1",
  entity_id: "https://idp.example.com/saml/app",
  metadata_url: "https://idp.example.com/saml/app/metadata",
  assertion_consumer_service_url: "https://idp.example.com/saml/app/acs",
  single_logout_url: "https://idp.example.com/saml/app/slo",
  request_signing_certificate_pem: "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
};

/** Fields with the time at which something ends. */
const endings: ReadonlySet<string> = new Set(["expires_at", "not_after", "renews_at", "retries_at"]);

/** Returns the required fields, and of the optional ones texts and lists with an example; for `update`, the fields that can be changed. */
export function exampleInput(
  fields: Fields,
  direction: "create" | "update",
  idOf: ExampleId = exampleId,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal || field.live || field.readOnly) continue;
    if (direction === "update" && field.immutable) continue;
    const isPlain =
      field.type === "string" || (field.type === "list" && field.of.type === "string" && field.example !== undefined);
    if (!field.required && !isPlain) continue;
    out[inputName(name, field)] = exampleValue(name, field, idOf);
  }
  return out;
}

export function exampleValue(name: string, field: Field, idOf: ExampleId = exampleId): unknown {
  if (field.example !== undefined) return field.example;
  switch (field.type) {
    case "string":
      return field.format?.example ?? (texts[name] ?? `example ${name.replaceAll("_", " ")}`).slice(0, field.maxBytes);
    case "boolean":
      return field.default ?? true;
    case "integer":
    case "number":
      return field.default && field.default >= field.min ? field.default : field.min;
    case "oneOf":
      return field.default || (field.values.find((value) => value === texts[name]) ?? field.values.find(Boolean));
    case "timestamp":
      return endings.has(name) ? "2030-01-01T00:00:00Z" : exampleTime;
    case "list":
      return [exampleValue(name, field.of, idOf)];
    case "map":
      return {
        [field.keysTo ? idOf(field.keysTo[0] as string) : "app"]: exampleValue("web", field.of, idOf),
      };
    case "object":
      return exampleInput(field.fields, "create", idOf);
    case "ref":
      return idOf(field.to[0] as string);
    case "refList":
      return [idOf(field.to[0] as string)];
    case "children":
      return [];
  }
}
