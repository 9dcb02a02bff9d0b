/** What a route says of where its provider's metadata is, as far as the control plane has to know. */
export interface MetadataAddress {
  readonly url: string;
  /** What the configuration holds besides; "" for none. It says whose metadata is expected. */
  readonly document: string;
}

/** Undefined for a route that asks for no metadata. @param doc of the route */
export function metadataAddressOf(doc: Readonly<Record<string, unknown>>): MetadataAddress | undefined {
  const block = doc["saml"] as Readonly<Record<string, unknown>> | null | undefined;
  const url = block?.["idp_metadata_url"];
  if (!block || block["enabled"] === false || typeof url !== "string" || url === "") return undefined;
  const { idp_metadata: document = "" } = block;
  return { url, document: typeof document === "string" ? document : "" };
}
