/** Cloud endpoints as `/endpoints` shows them. */
import { parseEndpointUrl } from "../../schema/endpoint-url.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { addressOf } from "./edge-endpoints.ts";

/** What follows from a cloud endpoint's URL. */
export function servedBy(reader: Pick<Reader, "holder">, { account_id, doc }: StoredObject): Doc {
  const { scheme, hostport } = parseEndpointUrl(doc["url"] as string);
  return { ...addressOf(reader, account_id, scheme, hostport), public_url: doc["url"] };
}

/** The stored object as one of the endpoints that answer now. */
export function asEndpoint(reader: Pick<Reader, "holder">, object: StoredObject): StoredObject {
  const { created_at, doc } = object;
  return { ...object, kind: "endpoint", doc: { ...doc, created_at, ...servedBy(reader, object) } };
}
