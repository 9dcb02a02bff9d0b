import { limitsOf, refName } from "../description.ts";
import type { Schema } from "../description.ts";
import { html, renderProse } from "./html.ts";
import type { Html } from "./html.ts";
import { renderTable } from "./table.ts";

/** Returns a table of an object's fields, with nested fields by their path. For input it shows which are required. */
export function fieldTable(schema: Schema, input: boolean): Html {
  const rows = rowsOf(schema, "", input);
  if (rows.length === 0) return html`<p class="dim">No fields.</p>`;
  return renderTable(["Field", "Type", "Meaning"], rows);
}

function rowsOf(schema: Schema, prefix: string, input: boolean): Html[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix + name;
    const limits = limitsOf(field);
    const required = input && schema.required?.includes(name) === true;
    const row = html`<tr>
      <td><code>${path}</code>${required ? html` <span class="dim">required</span>` : undefined}</td>
      <td>${typeText(field)}</td>
      <td>
        ${renderProse(field.description ?? "")}${limits.length > 0 ? html` <span class="dim">${limits.join("; ")}</span>` : undefined}
      </td>
    </tr> `;
    const inner = inlineObject(field);
    return inner ? [row, ...rowsOf(inner, `${path}.`, input)] : [row];
  });
}

/** Returns the unnamed object that a field contains, directly or in a list. */
function inlineObject(field: Schema): Schema | undefined {
  if (field.properties) return field;
  const inside = field.items ?? field.anyOf?.find((one) => one.properties);
  return inside?.properties ? inside : undefined;
}

/** Returns the type in words, with a link if it has a name. */
export function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) return objectLink(refName(schema.$ref));
  const some = schema.allOf ?? schema.anyOf;
  if (some) {
    return html`${some.map((one, at) => html`${at > 0 ? " or " : ""}${typeText(one)}`)}`;
  }
  if (schema.enum) {
    return html`${schema.enum.map((value, at) => html`${at > 0 ? " or " : ""}<code>${JSON.stringify(value)}</code>`)}`;
  }
  const types = [schema.type ?? "any"].flat();
  const words = types.map((type, at) => html`${at > 0 ? " or " : ""}${plainType(type, schema)}`);
  return html`${words}`;
}

function plainType(type: string, schema: Schema): Html {
  if (type === "array") return html`list of ${bracketTypes(schema.items ?? {})}`;
  const values = schema.additionalProperties;
  if (type === "object" && !schema.properties && typeof values === "object")
    return html`map to ${bracketTypes(values)}`;
  return html`${type}`;
}

/** Encloses several types in brackets, so that the following words apply to all of them. */
function bracketTypes(schema: Schema): Html {
  const text = typeText(schema);
  return text.html.includes(" or ") ? html`(${text})` : text;
}

export function objectLink(name: string): Html {
  return html`<a href="#object-${name}">${name}</a>`;
}
