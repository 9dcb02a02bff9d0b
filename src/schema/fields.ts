/**
 * The vocabulary of declarations. A field is plain data, from which parsing, rendering, storage, OpenAPI and static
 * types derive. A peculiarity of one resource belongs to that resource's `rules`.
 */
import type { RefusalName } from "../lib/errors.ts";

export interface FieldOptions {
  /** Required on create (modules: on PUT). */
  readonly required?: boolean;
  /** Can be set on create, and not changed later. */
  readonly immutable?: boolean;
  /** Set by the server. Accepted and ignored in input. */
  readonly readOnly?: boolean;
  /** Accepted, never returned. */
  readonly writeOnly?: boolean;
  /** Sealed at rest; redacted in logs, events and for keys that may not read secrets. */
  readonly secret?: boolean;
  /**
   * May contain a credential: sealed at rest like a secret, and concealed in logs, in events and from keys that may not
   * read secrets. By default they see a mask; the field can define another form.
   */
  readonly sensitive?: true | Concealment;
  /** `null` (or, for strings, "") is a valid value that means unset. */
  readonly nullable?: boolean;
  /** Not stored: the API computes it on each read. Accepted and ignored in input. */
  readonly live?: boolean;
  /** Stored for internal use: neither accepted nor returned. */
  readonly internal?: boolean;
  /**
   * In PATCH, an empty value ("", 0, [] or {}) means "not given", because clients that always send their defaults would
   * otherwise clear it (semantics, "Bodies").
   */
  readonly keepIfEmpty?: boolean;
  /** An older name that is also accepted in input. */
  readonly alias?: string;
}

/** How to conceal a text from readers without access. */
export interface Concealment {
  /** Reveals nothing about the concealed text, not even whether it changed. */
  standIn(text: string): string;
  /** Whether the given text contains a concealed part, so that it is not the value itself. */
  isStandIn(text: string): boolean;
  /** Ids of the objects that the text names, such as a policy's. */
  mentions?(text: string): readonly string[];
  /** The account's secrets that the edge reads because of the text, which could send them anywhere. */
  secrets?(text: string): readonly NamedSecret[];
  /** Whether the text contains a credential, as far as that can be determined. Absent: every text may. */
  holdsSecret?(text: string): boolean;
  /** Whether parts of the text are added to upstream requests. */
  sends?(text: string): boolean;
  /** Whether the text forwards requests to internal endpoints of the account. */
  forwards?(text: string): boolean;
}

/** A secret by the names of its vault and itself; undefined if only the running policy determines it. */
export interface NamedSecret {
  readonly vault: string | undefined;
  readonly name: string | undefined;
}

/** One fault of an input. */
export interface Issue {
  /** Position, such as `hostports[0]` or `oauth.provider`; "" for the whole. */
  readonly path: string;
  /** "must …, is …", with the present value unless it is a secret. */
  readonly message: string;
  /** The refusal if there is no other fault. Default: `invalid_field`. */
  readonly reason?: RefusalName;
}

interface Base<T> extends FieldOptions {
  readonly doc: string;
  /** A valid input, if the type and format do not imply one. */
  readonly example?: T;
  /** The value if a create omits the field. */
  readonly default?: T;
  /** For static types only; never present. */
  readonly _value?: T;
}

/** A check of one string beyond its length. The name becomes JSON Schema's `format`. */
export interface StringFormat {
  readonly name: string;
  readonly example: string;
  /** The refusal for an invalid value. Default: `invalid_field`. */
  readonly reason?: RefusalName;
  /** Returns the fault of `text` as the end of "must …", or undefined. */
  check(text: string): string | undefined;
  /** Returns the stored form of a valid text. Default: unchanged. */
  normalize?(text: string): string;
}

export interface StringField extends Base<string> {
  readonly type: "string";
  /** In UTF-8 bytes, not characters. */
  readonly maxBytes: number;
  readonly minBytes?: number;
  readonly format?: StringFormat;
}
export interface NullableStringField extends Base<string | null> {
  readonly type: "string";
  readonly maxBytes: number;
  readonly minBytes?: number;
  readonly format?: StringFormat;
  readonly nullable: true;
}
export interface BooleanField extends Base<boolean> {
  readonly type: "boolean";
}
export interface IntegerField extends Base<number> {
  readonly type: "integer";
  readonly min: number;
  readonly max: number;
  /** 0 means "not given", and the default is used. */
  readonly zeroIsUnset?: boolean;
}
export interface NumberField extends Base<number> {
  readonly type: "number";
  readonly min: number;
  readonly max: number;
}
export interface OneOfField<V extends string | null = string> extends Base<V> {
  readonly type: "oneOf";
  readonly values: readonly string[];
}
export interface TimestampField extends Base<string | null> {
  readonly type: "timestamp";
}
export interface ListField<T = unknown> extends Base<readonly T[]> {
  readonly type: "list";
  readonly of: Field;
  readonly maxItems: number;
  readonly minItems?: number;
  /** Whether values must be distinct. */
  readonly unique?: boolean;
}
export interface MapField<T = unknown> extends Base<Readonly<Record<string, T>>> {
  readonly type: "map";
  readonly key: StringField;
  readonly of: Field;
  readonly maxItems: number;
  readonly minItems?: number;
  /** The keys are ids of objects of these kinds. */
  readonly keysTo?: readonly string[];
}
export interface ObjectField<T = unknown> extends Base<T> {
  readonly type: "object";
  readonly fields: Fields;
  /** Name in OpenAPI. Default: inline. */
  readonly schemaName?: string;
  /** Constraints across its fields. */
  readonly rules?: readonly Rule<never>[];
  /** Warnings for valid but probably unintended values. Pure. */
  doubts?(value: never): readonly Issue[];
}
/** The objects that this one owns, shown inside it, oldest first. */
export interface ChildrenField extends Base<readonly unknown[]> {
  readonly type: "children";
  readonly kind: string;
  readonly live: true;
}

/** A constraint across fields: returns the fault of `doc`, or undefined. Pure. */
export type Rule<D> = { check(doc: D): Issue | undefined }["check"];

/** One other object: an id named `input` in requests and storage, a Ref under the field's name in responses. */
export interface RefField<Input extends string = string> extends Base<string | null> {
  readonly type: "ref";
  /** Allowed kinds of the object, such as `ip_policy`. */
  readonly to: readonly string[];
  readonly input: Input;
  /** Returned as the id instead of a Ref. */
  readonly bare?: boolean;
}
export interface RefListField<Input extends string = string> extends Base<readonly string[]> {
  readonly type: "refList";
  readonly to: readonly string[];
  readonly input: Input;
  readonly maxItems: number;
  readonly minItems?: number;
  /** Returned as a list of ids instead of Refs. */
  readonly bare?: boolean;
}

export type Field =
  | StringField
  | NullableStringField
  | BooleanField
  | IntegerField
  | NumberField
  | OneOfField
  | OneOfField<string | null>
  | TimestampField
  | ListField
  | MapField
  | ObjectField
  | RefField
  | RefListField
  | ChildrenField;

export type Fields = Readonly<Record<string, Field>>;

type ValueOf<F> = F extends { readonly _value?: infer T } ? Exclude<T, undefined> : never;

/**
 * The document that storage holds for `F`: every stored field is present, and references are ids under their input
 * name.
 */
export type StoredOf<F extends Fields> = {
  readonly [
    K in keyof F as F[K] extends { readonly live: true }
      ? never
      : F[K] extends { readonly input: infer I extends string }
        ? I
        : K
  ]: ValueOf<F[K]>;
};

export const f = {
  /** A string of at most `maxBytes` UTF-8 bytes (default 255). Absent: "". */
  string<
    const O extends Partial<Pick<StringField, "maxBytes" | "minBytes" | "format" | "default" | "example">> &
      FieldOptions,
  >(doc: string, options?: O): StringField & O {
    return { type: "string", doc, maxBytes: 255, default: "", ...options } as StringField & O;
  },
  /** A string that may be unset, which is `null`. */
  nullableString<
    const O extends Partial<Pick<StringField, "maxBytes" | "minBytes" | "format" | "example">> & FieldOptions,
  >(doc: string, options?: O): NullableStringField & O {
    return { type: "string", doc, maxBytes: 255, default: null, nullable: true, ...options } as NullableStringField & O;
  },
  boolean<const O extends Partial<Pick<BooleanField, "default">> & FieldOptions>(
    doc: string,
    options?: O,
  ): BooleanField & O {
    return { type: "boolean", doc, default: false, ...options } as BooleanField & O;
  },
  /** A whole number from 0 to 2³²−1, or a narrower range. */
  uint32<
    const O extends Partial<Pick<IntegerField, "min" | "max" | "default" | "zeroIsUnset" | "example">> & FieldOptions,
  >(doc: string, options?: O): IntegerField & O {
    return { type: "integer", doc, min: 0, max: 4_294_967_295, default: 0, ...options } as IntegerField & O;
  },
  number<const O extends Pick<NumberField, "min" | "max"> & Partial<Pick<NumberField, "default">> & FieldOptions>(
    doc: string,
    options: O,
  ): NumberField & O {
    return { type: "number", doc, default: 0, ...options } as NumberField & O;
  },
  oneOf<const V extends string, const O extends { readonly default?: V } & FieldOptions>(
    doc: string,
    values: readonly V[],
    options?: O,
  ): OneOfField<V> & O {
    return { type: "oneOf", doc, values, ...options } as unknown as OneOfField<V> & O;
  },
  /** One of `values`, or unset, which is `null`. */
  nullableOneOf<const V extends string, const O extends FieldOptions>(
    doc: string,
    values: readonly V[],
    options?: O,
  ): OneOfField<V | null> & O {
    return {
      type: "oneOf",
      doc,
      values,
      default: null,
      nullable: true,
      ...options,
    } as unknown as OneOfField<V | null> & O;
  },
  timestamp<const O extends FieldOptions>(doc: string, options?: O): TimestampField & O {
    return { type: "timestamp", doc, default: null, ...options } as TimestampField & O;
  },
  list<
    const E extends Field,
    const O extends Partial<Pick<ListField, "maxItems" | "minItems" | "unique" | "default" | "example">> & FieldOptions,
  >(doc: string, of: E, options?: O): ListField<ValueOf<E>> & O {
    return { type: "list", doc, of, maxItems: 1000, default: [], ...options } as unknown as ListField<ValueOf<E>> & O;
  },
  map<
    const E extends Field,
    const O extends Partial<Pick<MapField, "key" | "maxItems" | "minItems" | "keysTo">> & FieldOptions,
  >(doc: string, of: E, options?: O): MapField<ValueOf<E>> & O {
    return {
      type: "map",
      doc,
      of,
      key: { type: "string", doc: "", maxBytes: 255 },
      maxItems: 1000,
      default: {},
      ...options,
    } as unknown as MapField<ValueOf<E>> & O;
  },
  object<const F extends Fields, const O extends Partial<Pick<ObjectField, "schemaName" | "example">> & FieldOptions>(
    doc: string,
    fields: F,
    options?: O,
  ): ObjectField<StoredOf<F> | (O extends { readonly nullable: true } ? null : never)> & O {
    return { type: "object", doc, fields, ...options } as unknown as ObjectField<
      StoredOf<F> | (O extends { readonly nullable: true } ? null : never)
    > &
      O;
  },
  ref<const I extends string, const O extends Partial<Pick<RefField, "bare">> & FieldOptions>(
    doc: string,
    target: { readonly to: string | readonly string[]; readonly input: I },
    options?: O,
  ): RefField<I> & O {
    return {
      type: "ref",
      doc,
      to: [target.to].flat(),
      input: target.input,
      default: null,
      ...options,
    } as unknown as RefField<I> & O;
  },
  refList<
    const I extends string,
    const O extends Partial<Pick<RefListField, "minItems" | "maxItems" | "bare">> & FieldOptions,
  >(
    doc: string,
    target: { readonly to: string | readonly string[]; readonly input: I },
    options?: O,
  ): RefListField<I> & O {
    return {
      type: "refList",
      doc,
      to: [target.to].flat(),
      input: target.input,
      maxItems: 100,
      default: [],
      ...options,
    } as unknown as RefListField<I> & O;
  },
  /** The objects of `kind` that this one owns, shown inside it. */
  children(doc: string, kind: string): ChildrenField {
    return { type: "children", doc, kind, live: true };
  },
};

/** `description` and `metadata`, which nearly every resource has. */
export const notes = {
  description: f.string("Human-readable description.", { maxBytes: 255 }),
  metadata: f.string("Arbitrary user-defined machine-readable data.", { maxBytes: 4096 }),
} as const;
