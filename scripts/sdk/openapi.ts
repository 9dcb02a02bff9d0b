/** What the SDK's generator reads of `openapi.json`. */
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

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema; readonly examples?: Examples }>>;
}

type Examples = Readonly<Record<string, { readonly value: { readonly error_code: string } }>>;

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  /** Empty: no key is asked for. */
  readonly security?: readonly unknown[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Content>>;
  };
}

export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
