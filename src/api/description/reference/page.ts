/** The reference page: one HTML document made from the description of the API, without external resources. */
import { createHash } from "node:crypto";
import { catalogue, errorCode } from "../../../lib/errors.ts";
import type { RefusalName } from "../../../lib/errors.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { Operation } from "../../operation/call.ts";
import type { ApiDescription } from "../description.ts";
import { serveKeptDocument } from "../kept-document.ts";
import { fieldTable, typeText } from "./fields-html.ts";
import { html, renderProse } from "./html.ts";
import type { Html } from "./html.ts";
import { operationSection } from "./operation-section.ts";
import type { Placed } from "./operation-section.ts";
import { script } from "./script.ts";
import { style } from "./style.ts";
import { renderTable } from "./table.ts";

/** Allows one script and one style sheet by their hashes. Forbids frames and external resources. */
const headers = [
  "content-security-policy",
  `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`,
  "referrer-policy",
  "no-referrer",
];

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/**
 * `GET /docs`. The first request calls `describe`.
 *
 * @param linksConsole whether the server has a console at `/`
 */
export function referenceOperation(describe: () => JsonSchema, linksConsole: boolean): Operation {
  return {
    id: "getReference",
    method: "GET",
    path: "/docs",
    summary: "The reference of this API, for people.",
    produces: "text/html",
    exampleReply: '<!doctype html>\n<html lang="en">…</html>',
    takes: "nothing",
    open: true,
    tagged: true,
    status: 200,
    run: serveKeptDocument({
      contentType: "text/html; charset=utf-8",
      headers,
      make: () => renderReference(describe() as unknown as ApiDescription, linksConsole),
    }),
  };
}

/** The hashes are of exactly these texts. */
const styleElement: Html = { html: `<style>${style}</style>` };
const scriptElement: Html = { html: `<script>${script}</script>` };

export function renderReference(api: ApiDescription, linksConsole: boolean): string {
  const groups = new Map<string, Placed[]>();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const name = operation.tags?.[0]?.replaceAll("_", " ") ?? "the server";
      groups.set(name, [...(groups.get(name) ?? []), { ...operation, method: method.toUpperCase(), path }]);
    }
  }
  const outputs = Object.entries(api.components.schemas).filter(([name]) => !/(Create|Update)$/.test(name));
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Postern management API</title>
        ${styleElement}
      </head>
      <body>
        <nav>
          <div id="tools" hidden>
            <input id="search" type="search" placeholder="Search ( / )" aria-label="Search the reference" />
            <p class="dim"><span id="count" role="status"></span> <button id="colors" type="button"></button></p>
          </div>
          <ul>
            ${linksConsole ? html`<li><a href="/">← Console</a></li> ` : undefined}
            <li>
              <a href="#start"><b>Postern management API</b></a>
            </li>
            ${[...groups.keys()].map((name) => html`<li><a href="#${toAnchor(name)}">${toTitle(name)}</a></li> `)}
            <li><a href="#objects">Objects</a></li>
            <li><a href="#headers">Header fields</a></li>
            <li><a href="#errors">Errors</a></li>
          </ul>
        </nav>
        <main>
          ${introduction} ${[...groups].map(([name, operations]) => groupSection(name, operations, api))}
          <section>
            <h2 id="objects">Objects</h2>
            ${outputs.map(
              ([name, schema]) =>
                html`<div data-entry>
                  <h3 id="object-${name}">${name}</h3>
                  <p>${renderProse(schema.description ?? "")}</p>
                  ${fieldTable(schema, false)}
                </div> `,
            )}
          </section>
          <section>
            <h2 id="headers">Header fields of responses</h2>
            ${headerTable(api)}
          </section>
          <section>
            <h2 id="errors">Errors</h2>
            <p>
              Every failure has a body with <code>error_code</code>, <code>status_code</code>, <code>msg</code> and
              <code>details</code>; <code>details</code> has the <code>operation_id</code>, and one entry per field that
              is wrong.
            </p>
            ${renderTable(["Code", "Status", "What happened", "What to do"], errorRows())}
          </section>
        </main>
        ${scriptElement}
      </body>
    </html> `;
  return page.html;
}

const introduction = html`<h1 id="start">Postern management API</h1>
  <p>
    Send <code>Authorization: Bearer</code> with an API key, and <code>Service-Version: 2</code>. Bodies are JSON
    objects. The examples use the shell variables <code>POSTERN_API_URL</code> and <code>POSTERN_API_KEY</code>.
  </p>
  <p>
    Lists are sorted newest first, in pages of up to 100. <code>next_page_uri</code> is the URI of the next page, or
    null. Single objects have an <code>ETag</code>. If a change sends it as <code>If-Match</code>, the API rejects the
    change when the object has changed since. A repeated creation with the same <code>Idempotency-Key</code> has one
    effect. Every write is atomic and has a number, <code>Postern-Revision</code>.
  </p>
  <p>For programs: <a href="/openapi.json">openapi.json</a>.</p>`;

function groupSection(name: string, operations: readonly Placed[], api: ApiDescription): Html {
  return html`<section>
    <h2 id="${toAnchor(name)}">${toTitle(name)}</h2>
    <p>${renderProse(operations[0]?.tags ? (operations[0].description ?? "") : "")}</p>
    ${operations.map((operation) => operationSection(operation, api))}
  </section> `;
}

function headerTable({ components }: ApiDescription): Html {
  const rows = Object.entries(components.headers)
    .filter(([name]) => !name.endsWith("-If-Counted"))
    .map(
      ([name, { description, schema }]) =>
        html`<tr data-entry>
          <td><code>${name}</code></td>
          <td>${typeText(schema)}</td>
          <td>${renderProse(description)}</td>
        </tr> `,
    );
  return renderTable(["Name", "Type", "Meaning"], rows);
}

function errorRows(): Html[] {
  const names = (Object.keys(catalogue) as RefusalName[]).sort((a, b) => catalogue[a].number - catalogue[b].number);
  return names.map((name) => {
    const { status, what, fix } = catalogue[name];
    return html`<tr id="error-${name}" data-entry>
      <td><code>${errorCode(name)}</code></td>
      <td>${status}</td>
      <td>${renderProse(what)}</td>
      <td>${renderProse(fix)}</td>
    </tr> `;
  });
}

/** `ip policy rule` → `IP policy rule`. */
function toTitle(name: string): string {
  const text = name.replace(/^(?:api|ip|https?|tls|tcp)\b/, (word) => word.toUpperCase());
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function toAnchor(name: string): string {
  return `resource-${name.replaceAll(" ", "-")}`;
}
