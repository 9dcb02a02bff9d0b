/** The reference page: one HTML document made from the description of the API, with nothing to load beside it. */
import { createHash } from "node:crypto";
import { catalogue, errorCode } from "../../../lib/errors.ts";
import type { RefusalName } from "../../../lib/errors.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { Operation } from "../../operation/call.ts";
import type { ApiDescription } from "../description.ts";
import { keptDocument } from "../kept-document.ts";
import { fieldTable, typeText } from "./fields.ts";
import { html, prose } from "./html.ts";
import type { Html } from "./html.ts";
import { operationSection } from "./operation.ts";
import type { Placed } from "./operation.ts";
import { style } from "./style.ts";
import { table } from "./table.ts";

/** No script, no frame, nothing from elsewhere: what the page shows is text. */
const headers = [
  "content-security-policy",
  `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy",
  "no-referrer",
];

/** `GET /docs`; `describe` is called by the first request. */
export function referenceOperation(describe: () => JsonSchema): Operation {
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
    run: keptDocument({
      contentType: "text/html; charset=utf-8",
      headers,
      make: () => renderReference(describe() as unknown as ApiDescription),
    }),
  };
}

/** As it is hashed: nothing may come between. */
const styleElement: Html = { html: `<style>${style}</style>` };

export function renderReference(api: ApiDescription): string {
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
          <ul>
            <li>
              <a href="#start"><b>Postern management API</b></a>
            </li>
            ${[...groups.keys()].map((name) => html`<li><a href="#${anchor(name)}">${title(name)}</a></li> `)}
            <li><a href="#objects">Objects</a></li>
            <li><a href="#headers">Header fields</a></li>
            <li><a href="#errors">Errors</a></li>
          </ul>
        </nav>
        <main>
          ${introduction} ${[...groups].map(([name, operations]) => groupSection(name, operations, api))}
          <h2 id="objects">Objects</h2>
          ${outputs.map(
            ([name, schema]) =>
              html`<h3 id="object-${name}">${name}</h3>
                <p>${prose(schema.description ?? "")}</p>
                ${fieldTable(schema, false)} `,
          )}
          <h2 id="headers">Header fields of answers</h2>
          ${headerTable(api)}
          <h2 id="errors">Errors</h2>
          <p>
            Every failure has a body with <code>error_code</code>, <code>status_code</code>, <code>msg</code> and
            <code>details</code>; <code>details</code> has the <code>operation_id</code>, and one entry per field that
            is wrong.
          </p>
          ${table(["Code", "Status", "What happened", "What to do"], errorRows())}
        </main>
      </body>
    </html> `;
  return page.html;
}

const introduction = html`<h1 id="start">Postern management API</h1>
  <p>
    Send <code>Authorization: Bearer</code> with an API key, and <code>Service-Version: 2</code>. Bodies are JSON
    objects. In the examples, <code>POSTERN_API_URL</code> and <code>POSTERN_API_KEY</code> are variables of the shell.
  </p>
  <p>
    Lists come newest first in pages of up to 100; <code>next_page_uri</code> is the next one, or null. Single objects
    carry an <code>ETag</code>, and a change that sends it as <code>If-Match</code> is refused if the object has changed
    since. A creation with an <code>Idempotency-Key</code> happens once. Every write is atomic and has a number,
    <code>Postern-Revision</code>.
  </p>
  <p>The same for machines: <a href="/openapi.json">openapi.json</a>.</p>`;

function groupSection(name: string, operations: readonly Placed[], api: ApiDescription): Html {
  return html`<h2 id="${anchor(name)}">${title(name)}</h2>
    <p>${prose(operations[0]?.tags ? (operations[0].description ?? "") : "")}</p>
    ${operations.map((operation) => operationSection(operation, api))}`;
}

function headerTable({ components }: ApiDescription): Html {
  const rows = Object.entries(components.headers)
    .filter(([name]) => !name.endsWith("-If-Counted"))
    .map(
      ([name, { description, schema }]) =>
        html`<tr>
          <td><code>${name}</code></td>
          <td>${typeText(schema)}</td>
          <td>${prose(description)}</td>
        </tr> `,
    );
  return table(["Name", "Type", "Meaning"], rows);
}

function errorRows(): Html[] {
  const names = (Object.keys(catalogue) as RefusalName[]).sort((a, b) => catalogue[a].number - catalogue[b].number);
  return names.map((name) => {
    const { status, what, fix } = catalogue[name];
    return html`<tr id="error-${name}">
      <td><code>${errorCode(name)}</code></td>
      <td>${status}</td>
      <td>${prose(what)}</td>
      <td>${prose(fix)}</td>
    </tr> `;
  });
}

/** `ip policy rule` → `IP policy rule`. */
function title(name: string): string {
  const text = name.replace(/^(?:api|ip|https?|tls|tcp)\b/, (word) => word.toUpperCase());
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function anchor(name: string): string {
  return `resource-${name.replaceAll(" ", "-")}`;
}
