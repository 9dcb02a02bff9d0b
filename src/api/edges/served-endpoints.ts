/** Cloud endpoints as `/endpoints` shows them. */
import { parseEndpointUrl } from "../../schema/endpoint-url.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { addressOf } from "./edge-endpoints.ts";
import { docOf } from "../../schema/doc.ts";
import { endpoint } from "../../resources/endpoint.ts";
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";

/** Returns the fields that are derived from a cloud endpoint's URL. */
export function deriveFields(reader: Pick<Reader, "holder">, object: StoredObject): Doc {
  const { url } = docOf(object, cloudEndpoint);
  const { scheme, hostport } = parseEndpointUrl(url);
  return { ...addressOf(reader, object.account_id, scheme, hostport), public_url: url };
}

/** Returns the stored object as a live endpoint. */
export function asEndpoint(reader: Pick<Reader, "holder">, object: StoredObject): StoredObject {
  const { created_at, doc } = object;
  return { ...object, kind: endpoint.name, doc: { ...doc, created_at, ...deriveFields(reader, object) } };
}
