/**
 * The vocabulary of declarations. A field is plain data; parsing, rendering, storage, OpenAPI and static types
 * are read from it. An oddity of one resource belongs to that resource's `rules`, not here.
 */
import type { RefusalName } from "../lib/errors.ts";

export interface FieldOptions {
  /** Must be given on create (modules: on PUT). */
  readonly required?: boolean;
  /** Set on create, not accepted afterwards. */
  readonly immutable?: boolean;
  /** Set by the server; accepted in input and ignored. */
  readonly readOnly?: boolean;
  /** Accepted, never returned. */
  readonly writeOnly?: boolean;
  /** Sealed at rest; redacted in logs, events and for keys that may not read secrets. */
  readonly secret?: boolean;
  /**
   * May hold a credential: sealed at rest as secrets are; redacted in logs, in events and for keys that may not read
   * secrets. For them a text is masked unless the field says what they see of it.
   */
  readonly sensitive?: true | Concealment;
  /** `null` (or, for strings, "") is a value: unset. */
  readonly nullable?: boolean;
  /** Not stored: the API computes it on each read. Accepted in input and ignored. */
  readonly live?: boolean;
  /** Stored for the server's own use: neither accepted nor returned. */
  readonly internal?: boolean;
  /**
   * In PATCH, an empty value ("", 0, [] or {}) means "not given": clients that always send their defaults
   * would otherwise empty it (semantics, "Bodies").
   */
  readonly keepIfEmpty?: boolean;
  /** An older name that is accepted in input as well. */
  readonly alias?: string;
}

/** What stands for a text that its reader may not see. */
export interface Concealment {
  /** Tells nothing of what it conceals, not even whether that was changed. */
  standIn(text: string): string;
  /** Whether a text that was given has such a stand-in in it, and so is not the value itself. */
  isStandIn(text: string): boolean;
  /** Ids of the objects that the text itself names, such as a policy. */
  mentions?(text: string): readonly string[];
  /** Secrets of the account that the text has the edge read; it can tell them to anybody. */
  secrets?(text: string): readonly NamedSecret[];
  /** Whether the text has a credential in it, as far as that can be told; any text may where this is absent. */
  holdsSecret?(text: string): boolean;
  /** Whether something of the text is added to requests on their way upstream. */
  sends?(text: string): boolean;
  /** Whether the text has requests go to internal endpoints of the account. */
  forwards?(text: string): boolean;
}

/** A secret by its vault's name and its own; undefined: only what is running will know. */
export interface NamedSecret {
  readonly vault: string | undefined;
  readonly name: string | undefined;
}

/** One thing wrong with an input. */
export interface Issue {
  /** Where, e.g. `hostports[0]` or `oauth.provider`; "" for the whole. */
  readonly path: string;
  /** "must …, is …": the present value unless it is a secret. */
  readonly message: string;
  /** The refusal when nothing else is wrong; `invalid_field` unless given. */
  readonly reason?: RefusalName;
}

interface Base<T> extends FieldOptions {
  readonly doc: string;
  /** An input that is accepted, where it does not follow from the field's type and format. */
  readonly example?: T;
  /** The value when absent from a create. */
  readonly default?: T;
  /** Static type only; never present. */
  readonly _value?: T;
}

/** A check of one string beyond its length; the name becomes JSON Schema's `format`. */
export interface StringFormat {
  readonly name: string;
  readonly example: string;
  /** The refusal for a value that fails; `invalid_field` unless given. */
  readonly reason?: RefusalName;
  /** What is wrong with `text`, as the end of "must …", or undefined when nothing is. */
  check(text: string): string | undefined;
  /** The form that is stored; unchanged unless given. Called for what passed `check`. */
  normalize?(text: string): string;
}

export interface StringField extends Base<string> {
  readonly type: "string";
  /** UTF-8 bytes, not characters. */
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
  /** 0 means "not given": the default is used. */
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
  /** No value twice. */
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
  /** Name in OpenAPI; inline unless given. */
  readonly schemaName?: string;
  /** What must hold between its fields. */
  readonly rules?: readonly Rule<never>[];
  /** What is allowed in it, and probably not meant: pure. */
  doubts?(value: never): readonly Issue[];
}
/** The objects that this one owns, shown inside it, oldest first. */
export interface ChildrenField extends Base<readonly unknown[]> {
  readonly type: "children";
  readonly kind: string;
  readonly live: true;
}

/** A fact across fields, pure: what is wrong with `doc`, or undefined. */
export type Rule<D> = { check(doc: D): Issue | undefined }["check"];

/** One other object: `input` (an id) in requests and storage, a Ref under the field's name in responses. */
export interface RefField<Input extends string = string> extends Base<string | null> {
  readonly type: "ref";
  /** Kind of the object, e.g. `ip_policy`; several where any of them will do. */
  readonly to: readonly string[];
  readonly input: Input;
  /** Returned as the id itself instead of a Ref. */
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

/** The document that storage keeps for `F`: every stored field present, references as ids under their input name. */
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
  /** A string of at most `maxBytes` (255 unless given) UTF-8 bytes. Absent: "". */
  string<
    const O extends Partial<Pick<StringField, "maxBytes" | "minBytes" | "format" | "default" | "example">> &
      FieldOptions,
  >(doc: string, options?: O): StringField & O {
    return { type: "string", doc, maxBytes: 255, default: "", ...options } as StringField & O;
  },
  /** A string that may be unset, then `null`. */
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
  /** A whole number, 0 to 2³²−1 unless narrowed. */
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
  /** One of `values`, or unset, then `null`. */
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

/** `description` and `metadata`, as nearly every resource has them. */
export const notes = {
  description: f.string("Human-readable description.", { maxBytes: 255 }),
  metadata: f.string("Arbitrary user-defined machine-readable data.", { maxBytes: 4096 }),
} as const;
