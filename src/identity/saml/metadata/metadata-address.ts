/** The source of a route's provider metadata, as far as the control plane needs it. */
export interface MetadataAddress {
  readonly url: string;
  /** The metadata in the configuration, which states whose metadata is expected; "" if there are none. */
  readonly document: string;
}

/** Undefined for a route that fetches no metadata. @param doc document of the route */
export function metadataAddressOf(doc: Readonly<Record<string, unknown>>): MetadataAddress | undefined {
  const block = doc["saml"] as Readonly<Record<string, unknown>> | null | undefined;
  const url = block?.["idp_metadata_url"];
  if (!block || block["enabled"] === false || typeof url !== "string" || url === "") return undefined;
  const { idp_metadata: document = "" } = block;
  return { url, document: typeof document === "string" ? document : "" };
}
