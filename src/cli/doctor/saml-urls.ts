/** Checks that the URLs registered with SAML providers are the URLs at which this server accepts their responses. */
import type { Postern } from "../../../sdk/src/index.ts";
import type { Finding } from "./finding.ts";

/**
 * The URLs never change automatically because providers store them. They can therefore become outdated.
 * @param base of the login host
 */
export async function samlUrls(api: Postern, base: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const { routes } of api.edges.https.list()) {
    for (const { id, saml } of routes) {
      if (!saml) continue;
      const expected = `${base}/saml/${id}`;
      const about = `route ${id}`;
      if (saml.entity_id === expected) {
        findings.push({
          outcome: "fine",
          about,
          message: `SAML answers arrive at ${saml.assertion_consumer_service_url}`,
        });
        continue;
      }
      const message = `its SAML provider sends answers to ${saml.assertion_consumer_service_url}, but the server accepts them at ${expected}/acs: point that host and port to this server too, or remove the module, set it again, and register the new address at the provider`;
      findings.push({ outcome: "warning", about, message });
    }
  }
  return findings;
}
