/** What an agent publishes. */
export type Publication =
  /** An endpoint with its own address. Without one, the server generates it. */
  | {
      readonly kind: "url";
      readonly url: string | undefined;
      /** First label of a name below the server's domain, used if there is no `url`. */
      readonly subdomain?: string | undefined;
      /** The OpenID provider at which visitors must log in. */
      readonly login?: OpenIdLogin | undefined;
    }
  /** Every edge that has a backend with these labels. */
  | { readonly kind: "labels"; readonly labels: Readonly<Record<string, string>> };

export interface OpenIdLogin {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Clients that are not browsers, in the form of the module. */
  readonly machineClients?: object | undefined;
}

export type PublishedProto = "https" | "http" | "tls" | "tcp";

/** The requested place: a host name, or the `host:port` of a tcp endpoint. */
export type RequestedPlace = { readonly hostname: string } | { readonly address: string };

/**
 * Returns the place that a public URL names, with or without scheme. Throws an `Error` that states the expected form.
 */
export function placeOfUrl(text: string, proto: PublishedProto): RequestedPlace {
  const url = URL.parse(text.includes("://") ? text : `${proto}://${text}`);
  const isBare = url && ["", "/"].includes(url.pathname) && url.search === "" && url.hash === "" && url.username === "";
  if (!isBare || url.protocol !== `${proto}:` || url.hostname === "" || (proto === "tcp" && url.port === "")) {
    throw new Error(
      {
        http: "must be an http:// URL without a path, such as http://app.example.com",
        https: "must be an https:// URL without a path, such as https://app.example.com",
        tls: "must be a tls:// URL, such as tls://mail.example.com",
        tcp: "must be a tcp:// URL with a port, such as tcp://t.example.com:20432",
      }[proto],
    );
  }
  return proto === "tcp" ? { address: url.host } : { hostname: url.hostname };
}
