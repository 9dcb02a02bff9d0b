/** What is published. */
export type Publication =
  /** An address of its own; the server makes one up unless it is given. */
  | { readonly kind: "url"; readonly url: string | undefined }
  /** Whatever edges have a backend with these labels. */
  | { readonly kind: "labels"; readonly labels: Readonly<Record<string, string>> };

/** The host name of a public URL or of a bare name. Throws `Error` with what it must be. */
export function hostOfUrl(given: string): string {
  const url = URL.parse(given.includes("://") ? given : `https://${given}`);
  if (!url || url.protocol !== "https:" || url.pathname !== "/" || url.search !== "" || url.username !== "") {
    throw new Error("must be an https:// URL without a path, such as https://app.example.com");
  }
  return url.hostname;
}
