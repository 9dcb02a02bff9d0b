import { refName } from "../description.ts";
import type { ApiDescription, Content, DescribedOperation, Parameter, Schema } from "../description.ts";
import { fieldTable, objectLink, typeText } from "./fields-html.ts";
import { html, renderProse } from "./html.ts";
import type { Html } from "./html.ts";
import { renderTable } from "./table.ts";

export interface Placed extends DescribedOperation {
  readonly method: string;
  readonly path: string;
}

/** One operation, initially collapsed. */
export function operationSection(operation: Placed, api: ApiDescription): Html {
  const { method, path, summary, operationId } = operation;
  const parameters = (operation.parameters ?? []).map((one) => resolveParameter(one, api));
  const body = bodySchema(operation, api);
  return html`<details id="${operationId}" data-entry>
    <summary>
      <span class="method">${method}</span><code>${path}</code> <span class="dim">${renderProse(summary)}</span>
    </summary>
    <p class="dim">Operation <code>${operationId}</code></p>
    ${
      parameters.length > 0
        ? html`<h3>Parameters</h3>
            ${parameterTable(parameters)}`
        : undefined
    }
    ${
      body
        ? html`<h3>Body</h3>
            ${fieldTable(body, true)}`
        : undefined
    }
    <h3>Example</h3>
    <pre>${renderCurl(operation)}</pre>
    <h3>Responses</h3>
    ${answerList(operation, api)} ${answerExample(operation, api)}
  </details> `;
}

function parameterTable(parameters: readonly Parameter[]): Html {
  const rows = parameters.map(
    (one) =>
      html`<tr>
        <td><code>${one.name}</code></td>
        <td>${one.in}</td>
        <td>${typeText(one.schema)}</td>
        <td>${renderProse(one.description ?? (one.in === "path" ? "Id of the object." : ""))}</td>
      </tr> `,
  );
  return renderTable(["Name", "In", "Type", "Meaning"], rows);
}

function bodySchema({ requestBody }: Placed, api: ApiDescription): Schema | undefined {
  const schema = requestBody?.content?.["application/json"]?.schema;
  return schema?.$ref === undefined ? schema : api.components.schemas[refName(schema.$ref)];
}

function resolveParameter(parameter: Parameter, api: ApiDescription): Parameter {
  if (parameter.$ref === undefined) return parameter;
  return api.components.parameters[refName(parameter.$ref)] as Parameter;
}

/** Example command. Address and key come from the environment. */
function renderCurl({ method, path, requestBody, security }: Placed): string {
  const url = `"$POSTERN_API_URL${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)}"`;
  const lines = [method === "GET" ? `curl ${url}` : `curl -X ${method} ${url}`];
  if (security?.length !== 0) lines.push(`-H "Authorization: Bearer $POSTERN_API_KEY" -H "Service-Version: 2"`);
  const content = requestBody?.content?.["application/json"];
  if (content?.example !== undefined) {
    lines.push(`-H "Content-Type: application/json"`);
    lines.push(`-d '${bodyText(content.example).replaceAll("'", String.raw`'\''`)}'`);
  }
  return lines.join(" \\\n  ");
}

function bodyText(example: unknown): string {
  const line = JSON.stringify(example);
  return line.length > 60 ? JSON.stringify(example, null, 2).replaceAll("\n", "\n  ") : line;
}

function answerList({ responses }: Placed, api: ApiDescription): Html {
  const items = Object.entries(responses).flatMap(([status, response]) => {
    if (status === "default") return [];
    if (!status.startsWith("2")) return [html`<li>${status}: ${renderRefusals(response, api)}</li> `];
    const schema = response.content?.["application/json"]?.schema;
    const type = Object.keys(response.content ?? {})[0];
    const what = schema?.$ref === undefined ? html`${type ?? "no body"}` : objectLink(refName(schema.$ref));
    return [html`<li>${status}: ${what}</li> `];
  });
  return html`<ul>
    ${items}
  </ul>`;
}

/** Example of a success, also for plain text. */
function answerExample({ responses }: Placed, api: ApiDescription): Html | undefined {
  const [status, answer] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? [];
  if (!answer) return undefined;
  const content = Object.values(answer.content ?? {})[0];
  const reference = Object.values(content?.examples ?? {})[0]?.$ref;
  const value = reference === undefined ? content?.example : api.components.examples[refName(reference)]?.value;
  const fields = Object.keys(answer.headers ?? {}).map((name, at) => html`${at > 0 ? ", " : ""}<code>${name}</code>`);
  return html`<p class="dim">Headers of ${status}: ${fields}</p>
    ${value === undefined ? undefined : html`<pre>${typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>`}`;
}

function renderRefusals(
  { $ref: ref, description = "" }: Content & { readonly $ref?: string },
  api: ApiDescription,
): Html {
  const response = ref === undefined ? undefined : api.components.responses[refName(ref)];
  const codes = new Set(description.split(", "));
  const examples = Object.entries(response?.content?.["application/json"]?.examples ?? {});
  return html`${examples
    .filter(([, { value }]) => codes.has(value.error_code))
    .map(
      ([name, { value }], at) =>
        html`${at > 0 ? ", " : ""}<a href="#error-${name}">${value.error_code}</a> ${name.replaceAll("_", " ")}`,
    )}`;
}
