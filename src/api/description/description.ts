/** Type of `openapi.json` for its users: the reference page, the SDK's generator, the command line. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly format?: string;
  readonly "x-max-bytes"?: number;
  readonly "x-format"?: string;
  readonly "x-ref"?: readonly string[];
  readonly "x-secret"?: boolean;
}

export interface Content {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<
    Record<string, { readonly schema?: Schema; readonly example?: unknown; readonly examples?: Examples }>
  >;
}

type Examples = Readonly<Record<string, { readonly $ref?: string; readonly value: { readonly error_code: string } }>>;

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  /** Empty: the operation needs no API key. */
  readonly security?: readonly unknown[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Content>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    readonly headers: Readonly<Record<string, Header>>;
  };
}

/** Returns the last part of a reference. */
export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Returns the limits of a value, in words. */
export function limitsOf(field: Schema): string[] {
  const limits: string[] = [];
  if (field["x-max-bytes"] !== undefined) limits.push(`at most ${field["x-max-bytes"]} bytes`);
  if (field["x-format"] !== undefined) limits.push(field["x-format"].replaceAll("-", " "));
  if (field.minimum !== undefined && field.maximum !== undefined) limits.push(`${field.minimum} to ${field.maximum}`);
  if (field.maxItems !== undefined) limits.push(`at most ${field.maxItems}`);
  if (field.maxProperties !== undefined) limits.push(`at most ${field.maxProperties}`);
  const refs = field["x-ref"] ?? field.items?.["x-ref"];
  if (refs) limits.push(`id of ${refs.map(withArticle).join(" or ")}`);
  if (field["x-secret"]) limits.push("secret");
  const fallback = field.default;
  if (
    fallback !== undefined &&
    fallback !== "" &&
    JSON.stringify(fallback) !== "[]" &&
    JSON.stringify(fallback) !== "{}"
  )
    limits.push(`default ${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}`);
  return limits;
}

/** `https_edge` → `an https edge`. */
function withArticle(kind: string): string {
  return `${/^(?:[aeio]|http)/.test(kind) ? "an" : "a"} ${kind.replaceAll("_", " ")}`;
}
