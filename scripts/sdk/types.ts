/** JSON Schema → TypeScript, one interface per named schema. */
import { limitsOf, refName } from "../../src/api/description/description.ts";
import type { ApiDescription, Schema } from "../../src/api/description/description.ts";

/** `sdk/src/generated/types.ts`. */
export function renderTypes(api: ApiDescription): string {
  // Failures become `PosternError`.
  const shown = Object.entries(api.components.schemas).filter(([name]) => name !== "Error");
  const interfaces = shown.map(([name, schema]) => {
    return `${renderComment(schema.description ?? "", "")}export interface ${name} ${objectType(schema, "", isInput(name))}\n`;
  });
  return `/** The objects of the API, as they travel. */\n\n${interfaces.join("\n")}`;
}

/** Returns the name of a referenced type, or the type itself. */
export function typeOf(schema: Schema, indent = "", input = true): string {
  if (schema.$ref !== undefined) return refName(schema.$ref);
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, indent, input)).join(" & ");
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, indent, input)).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type: string) => typeOf({ ...schema, type }, indent, input)).join(" | ");
  }
  switch (schema.type) {
    case "integer":
      return "number";
    case "array":
      return `readonly ${renderElement(schema.items ?? {}, indent, input)}[]`;
    case "object":
      return objectType(schema, indent, input);
    default:
      return typeof schema.type === "string" ? schema.type : "unknown";
  }
}

function renderElement(schema: Schema, indent: string, input: boolean): string {
  const type = typeOf(schema, indent, input);
  return type.includes(" | ") ? `(${type})` : type;
}

function objectType(schema: Schema, indent: string, input: boolean): string {
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return `Readonly<Record<string, ${typeof values === "object" ? typeOf(values, indent, input) : "unknown"}>>`;
  }
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const given = schema.required?.includes(name) === true;
    const type = typeOf(field, inner, input);
    // An input may contain `undefined` for absent fields; JSON omits it.
    return `${renderComment(renderDocumentation(field), inner)}${inner}readonly ${renderKey(name)}${given ? "" : "?"}: ${type}${given || !input ? "" : " | undefined"};\n`;
  });
  if (typeof schema.additionalProperties === "object") {
    fields.push(`${inner}readonly [name: string]: ${typeOf(schema.additionalProperties, inner, input)};\n`);
  }
  return fields.length === 0 ? "{}" : `{\n${fields.join("")}${indent}}`;
}

function renderKey(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

function isInput(name: string): boolean {
  return /(Create|Update|Replace)$/.test(name);
}

function renderDocumentation(field: Schema): string {
  const limits = limitsOf(field);
  return [field.description, ...(limits.length > 0 ? [`(${limits.join("; ")})`] : [])].filter(Boolean).join(" ");
}

/** A doc comment, on one line where it fits. */
export function renderComment(text: string, indent: string): string {
  const safe = text.replaceAll("*/", "*\\/").replaceAll("\n", " ").trim();
  if (safe === "") return "";
  if (indent.length + safe.length + 7 <= 120) return `${indent}/** ${safe} */\n`;
  const lines: string[] = [];
  let line = "";
  for (const word of safe.split(" ")) {
    if (line !== "" && indent.length + line.length + word.length + 4 > 120) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return `${indent}/**\n${lines.map((one) => `${indent} * ${one}\n`).join("")}${indent} */\n`;
}
