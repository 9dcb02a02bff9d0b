/** Pages of the development identity provider. They have no scripts, except for the SAML form that submits itself. */
import { hash } from "node:crypto";
import { escapeHtml } from "../lib/escape-html.ts";
import { people } from "./sample-people.ts";
import type { ProviderReply } from "./provider-reply.ts";

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:8vh auto;padding:0 1em}h1{font-size:1.3em}" +
  "button{font:inherit;padding:.5em .8em;margin:.2em 0}button.person{display:block;width:100%;text-align:left}" +
  "label{display:block;margin:.4em 0}input:not([type=checkbox]){width:100%;font:inherit}small{color:#667}" +
  ":root{color-scheme:light dark}";
const script = "document.forms[0].submit()";
const scriptSource = `'sha256-${hash("sha256", script, "base64")}'`;

/**
 * @param body HTML
 * @param more additional sources of the content security policy
 */
function renderPage(title: string, body: string, more = ""): ProviderReply {
  return {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'${more}`,
    },
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${style}</style><h1>${escapeHtml(title)}</h1>${body}<p><small>Postern's development identity provider: you can choose any identity.</small></p></html>\n`,
  };
}

/** @param id of the request that waits for the login */
export function signInPage(id: string, client: string): ProviderReply {
  const hidden = `<input type="hidden" name="request" value="${escapeHtml(id)}">`;
  const buttons = people.map(
    ({ id: person, name, email, isVerified, groups }) =>
      `<button class="person" name="person" value="${person}">${escapeHtml(name)}<br><small>${escapeHtml(email)}` +
      `${isVerified ? "" : ", not verified"}; ${groups.length > 0 ? escapeHtml(groups.join(", ")) : "no groups"}</small></button>`,
  );
  const field = (name: string, label: string): string => `<label>${label}<input name="${name}"></label>`;
  return renderPage(
    `Log in to ${client}`,
    `<form method="post" action="/sign-in">${hidden}${buttons.join("")}</form><details><summary>Another person</summary><form method="post" action="/sign-in">${hidden}` +
      field("id", "Id") +
      field("name", "Name") +
      field("email", "E-mail") +
      field("groups", "Groups, separated by commas") +
      `<label><input type="checkbox" name="verified"> e-mail verified</label><button>Log in</button></form></details>` +
      `<form method="post" action="/sign-in">${hidden}<button name="outcome" value="deny">Deny</button> ` +
      `<button name="outcome" value="fail">Fail</button></form>`,
  );
}

export interface Overview {
  readonly signedInAs: string | undefined;
  /** Entity ids of services that sent SAML requests. */
  readonly samlServices: readonly string[];
}

export function overviewPage({ signedInAs, samlServices }: Overview): ProviderReply {
  const form = (action: string, text: string, more = ""): string =>
    `<form method="post" action="${action}">${more}<button>${text}</button></form>`;
  const begun = samlServices.map((service) =>
    form(
      "/saml/begin",
      `Log in to ${escapeHtml(service)} from here`,
      `<input type="hidden" name="service" value="${escapeHtml(service)}"><label>Target URL of the login<input name="relay" placeholder="https://…"></label>`,
    ),
  );
  return renderPage(
    "Development identity provider",
    (signedInAs === undefined
      ? "<p>No one is logged in here.</p>"
      : `<p>You are ${escapeHtml(signedInAs)}.</p>${form("/sign-out", "Log out everywhere")}`) +
      form("/rotate", "Sign with a new key") +
      begun.join(""),
  );
}

/** A form that is submitted to a service immediately (saml-bindings §3.5.4). */
export function postPage(url: string, fields: Readonly<Record<string, string>>): ProviderReply {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  );
  return renderPage(
    "Back to the service",
    `<form method="post" action="${escapeHtml(url)}">${inputs.join("")}<button>Go on</button></form><script>${script}</script>`,
    `; script-src ${scriptSource}`,
  );
}

export function renderDonePage(title: string, text: string): ProviderReply {
  return renderPage(title, `<p>${escapeHtml(text)}</p>`);
}
