import { limitsOf, refName } from "../description.ts";
import type { Schema } from "../description.ts";
import { html, prose } from "./html.ts";
import type { Html } from "./html.ts";
import { table } from "./table.ts";

/** A table of what an object holds; objects inside it by the path of their fields. An input says what it requires. */
export function fieldTable(schema: Schema, input: boolean): Html {
  const rows = rowsOf(schema, "", input);
  if (rows.length === 0) return html`<p class="dim">No fields.</p>`;
  return table(["Field", "Type", "Meaning"], rows);
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
        ${prose(field.description ?? "")}${limits.length > 0 ? html` <span class="dim">${limits.join("; ")}</span>` : undefined}
      </td>
    </tr> `;
    const inner = inlineObject(field);
    return inner ? [row, ...rowsOf(inner, `${path}.`, input)] : [row];
  });
}

/** The object that a field holds, or a list of, where it has no name of its own. */
function inlineObject(field: Schema): Schema | undefined {
  if (field.properties) return field;
  const inside = field.items ?? field.anyOf?.find((one) => one.properties);
  return inside?.properties ? inside : undefined;
}

/** The type in words, with a link to what has a name. */
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
  if (type === "array") return html`list of ${several(schema.items ?? {})}`;
  const values = schema.additionalProperties;
  if (type === "object" && !schema.properties && typeof values === "object") return html`map to ${several(values)}`;
  return html`${type}`;
}

/** In brackets if it is one of several types, as what follows would belong to them. */
function several(schema: Schema): Html {
  const text = typeText(schema);
  return text.html.includes(" or ") ? html`(${text})` : text;
}

export function objectLink(name: string): Html {
  return html`<a href="#object-${name}">${name}</a>`;
}
