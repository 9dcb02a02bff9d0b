/** Domains of the hosted service. */
const vendorDomains = /(?:^|\.)ngrok(?:-free)?\.(?:app|dev|io|pro|pizza)$/;

/** Whether a host, a hostport or a URL has a name that cannot move to another server. */
export function isVendorHost(text: string): boolean {
  return vendorDomains.test(
    text
      .toLowerCase()
      .replace(/^\w+:\/\//, "")
      .replace(/[:/].*$/, ""),
  );
}
