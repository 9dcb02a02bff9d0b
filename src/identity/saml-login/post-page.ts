/**
 * A page that posts a message to the identity provider. It submits itself, and has a button for browsers without
 * scripts.
 */
import { hash } from "node:crypto";
import type { Answer } from "../../traffic/step.ts";
import { renderPage } from "../browser/login-pages.ts";
import type { Outgoing } from "../saml/transport/outgoing-message.ts";

const script = "document.forms[0].submit()";
const scriptHash = `'sha256-${hash("sha256", script, "base64")}'`;

export function postPage({ url, fields }: Extract<Outgoing, { binding: "post" }>, provider: string): Answer {
  const { protocol, origin } = new URL(url);
  // Browsers apply the policy also to redirects that answer a form, and providers redirect to any of their hosts.
  const targets = protocol === "https:" ? "https:" : `https: ${origin}`;
  return renderPage(
    200,
    {
      title: `On to ${provider}`,
      lines: ["Your browser continues to the identity provider. If nothing happens, use the button."],
      form: { action: url, text: "Go on", fields, script },
    },
    {
      "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; script-src ${scriptHash}; form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`,
    },
  );
}
