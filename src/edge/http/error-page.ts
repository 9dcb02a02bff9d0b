import { catalogue, errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { escapeHtml } from "../../lib/escape-html.ts";
import { visitorPageStyle } from "../../lib/visitor-page-style.ts";
import type { FixedAnswer } from "../../traffic/step.ts";

/**
 * Renders the error page of a refusal: the problem, the next step, the code and the request id. It never says why a
 * module refused. `detail` names the exceeded limit or the error in the upstream's response. The page is JSON if
 * `accept` prefers it or does not include HTML. Otherwise it is HTML without scripts.
 */
export function errorPage(
  reason: RefusalName,
  requestId: string,
  accept: string | undefined,
  detail?: string,
): FixedAnswer {
  const { status, what, fix } = catalogue[reason];
  const code = errorCode(reason);
  const html = wantsHtml(accept);
  return {
    status,
    headers: {
      "content-type": html ? "text/html; charset=utf-8" : "application/json",
      "cache-control": "no-store",
      "postern-error-code": code,
      "ngrok-error-code": code,
      ...(html && { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }),
    },
    body: html
      ? `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
        `<title>${status} ${escapeHtml(what)}</title><style>${visitorPageStyle}</style><h1>${escapeHtml(what)}</h1>` +
        `${detail === undefined ? "" : `<p>${escapeHtml(toSentence(detail))}</p>`}<p>${escapeHtml(fix)}</p><footer><code>${code}</code> · request <code>${requestId}</code></footer></html>\n`
      : `${JSON.stringify({ error_code: code, status_code: status, msg: what, details: { fix, ...(detail !== undefined && { detail }), request_id: requestId } })}\n`,
  };
}

function toSentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** Browsers name text/html. Most programs name no type, any type, or JSON. */
function wantsHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const html = accept.search(/text\/html|application\/xhtml\+xml/i);
  if (html < 0) return false;
  const json = accept.search(/application\/(?:[\w.-]+\+)?json/i);
  return json < 0 || html < json;
}
