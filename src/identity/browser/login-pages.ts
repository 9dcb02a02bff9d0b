/** Login pages: without scripts, usable on a phone, and as JSON for clients that ask for it. */
import { catalogue, errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { escapeHtml } from "../../lib/escape-html.ts";
import { visitorPageStyle } from "../../lib/visitor-page-style.ts";
import type { AnswerHeaders, FixedAnswer } from "../../traffic/step.ts";

/** Header fields of every answer that concerns a login. */
export const loginHeaders: AnswerHeaders = Object.freeze({
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
});

interface PageForm {
  readonly action: string;
  readonly text: string;
  readonly fields?: Readonly<Partial<Record<string, string>>>;
  readonly script?: string;
}

export interface LoginPage {
  readonly title: string;
  /** Paragraphs of plain text. */
  readonly lines: readonly string[];
  /** Links, as buttons. */
  readonly links?: readonly { readonly text: string; readonly href: string; readonly target?: "_top" | "_blank" }[];
  /** A form that posts these fields, or only itself. The script is one of ours, which the headers must allow. */
  readonly form?: PageForm;
  readonly otherForm?: PageForm;
  /** Where the answer to a form may redirect, besides this host: a source of a content security policy. */
  readonly formTargets?: string;
  readonly footer?: string;
  /** Whether other sites may show the page in a frame. */
  readonly inFrame?: boolean;
}

export function renderPage(status: number, page: LoginPage, headers: AnswerHeaders = {}): FixedAnswer {
  const { title, lines, links = [], form, otherForm, footer } = page;
  const formTargets = page.formTargets === undefined ? "" : ` ${page.formTargets}`;
  const anchors = links.map(
    ({ text, href, target }) =>
      `<a class="do" href="${escapeHtml(href)}"${target ? ` target="${target}" rel="noopener"` : ""}>${escapeHtml(text)}</a>`,
  );
  const body =
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escapeHtml(title)}</title><style>${visitorPageStyle}</style><h1>${escapeHtml(title)}</h1>` +
    lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("") +
    anchors.join("") +
    (form ? renderForm(form) : "") +
    (otherForm ? renderForm(otherForm) : "") +
    (footer === undefined ? "" : `<footer>${footer}</footer>`) +
    "</html>\n";
  return {
    status,
    headers: {
      ...loginHeaders,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        `default-src 'none'; style-src 'unsafe-inline'; form-action 'self'${formTargets}; base-uri 'none'; ` +
        `frame-ancestors ${page.inFrame ? "*" : "'none'"}`,
      ...headers,
    },
    body,
  };
}

function renderForm({ action, text, fields = {}, script }: PageForm): string {
  const inputs = Object.entries(fields).map(
    ([name, value = ""]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const form = `<form method="post" action="${escapeHtml(action)}">${inputs.join("")}<button>${escapeHtml(text)}</button></form>`;
  return script === undefined ? form : `${form}<script>${script}</script>`;
}

export interface RefusalContext {
  readonly requestId: string;
  readonly provider?: string;
  /** Rendered as "signed in as x@y" if set. */
  readonly signedInAs?: string;
  readonly links?: LoginPage["links"];
  /** The page appears in a frame of another site and only offers a login in the whole window. */
  readonly inFrame?: boolean;
  /** Whether the client wants a page; otherwise JSON. */
  readonly asPage: boolean;
  /** A further paragraph. */
  readonly note?: string;
  /** Additional members of the JSON. */
  readonly details?: Readonly<Record<string, string>>;
}

/**
 * The visitor's view of a refusal: provider, code and request id. It never reveals why a token failed or who is listed.
 */
export function refusalAnswer(reason: RefusalName, context: RefusalContext, headers: AnswerHeaders = {}): FixedAnswer {
  const { status, what, fix } = catalogue[reason];
  const code = errorCode(reason);
  const { requestId, provider, signedInAs, links } = context;
  const codes = { "postern-error-code": code, "ngrok-error-code": code };
  if (!context.asPage) {
    const details = {
      fix,
      request_id: requestId,
      ...(provider !== undefined && { provider }),
      ...(signedInAs !== undefined && { signed_in_as: signedInAs }),
      ...context.details,
    };
    return {
      refused: reason,
      status,
      headers: { ...loginHeaders, "content-type": "application/json", ...codes, ...headers },
      body: `${JSON.stringify({ error_code: code, status_code: status, msg: what, details })}\n`,
    };
  }
  const lines = [
    ...(signedInAs === undefined ? [] : [`You are signed in as ${signedInAs}${provider ? ` with ${provider}` : ""}.`]),
    fix,
    ...(context.note === undefined ? [] : [context.note]),
  ];
  const footer =
    `<code>${code}</code> · ${provider === undefined ? "" : `${escapeHtml(provider)} · `}` +
    `request <code>${escapeHtml(requestId)}</code>`;
  const { inFrame = false } = context;
  return {
    ...renderPage(status, { title: what, lines, ...(links && { links }), footer, inFrame }, { ...codes, ...headers }),
    refused: reason,
  };
}

/** @param cookies complete `Set-Cookie` values */
export function answerRedirect(status: 302 | 303, location: string, cookies: readonly string[] = []): FixedAnswer {
  return {
    status,
    headers: { ...loginHeaders, location, ...(cookies.length > 0 && { "set-cookie": cookies }) },
    body: "",
  };
}
