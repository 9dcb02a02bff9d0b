/** DNS providers that can set the records of `dns-01`, each in a file of `providers/`. */
export const dnsProviderNames = [
  "acme-dns",
  "cloudflare",
  "digitalocean",
  "exec",
  "gandi",
  "hetzner",
  "rfc2136",
  "route53",
  "webhook",
] as const;
export type DnsProviderName = (typeof dnsProviderNames)[number];

/** Algorithms of TSIG keys (RFC 8945 §6). SHA-1 and MD5 are left out on purpose. */
export const tsigAlgorithms = ["hmac-sha256", "hmac-sha384", "hmac-sha512"] as const;
export type TsigAlgorithm = (typeof tsigAlgorithms)[number];
