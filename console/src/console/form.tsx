/** A form for any object, generated from the API's description. */
import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Json, JsonObject } from "./api.ts";
import type { Description, Schema } from "./description.ts";
import { titleOf } from "./description.ts";
import { Doc, valueText } from "./parts.tsx";
import { PolicyField } from "./policy/policy-field.tsx";
import { Reference } from "./reference.tsx";
import { TextArea, TextInput } from "../ui/elements.tsx";

/** Prefix of the ids of a form's fields. A form in a dialog above another form has another one. */
export const FormName = createContext("field");

interface FieldsProps {
  readonly description: Description;
  readonly schema: Schema;
  readonly value: JsonObject;
  /** Errors by the path of the field. */
  readonly faults: Readonly<Record<string, string>>;
  readonly path?: string;
  /** Fields that are not shown because their values are known. */
  readonly without?: readonly string[];
  onChange(value: JsonObject): void;
}

export function Fields({ description, schema, value, faults, path = "", without = [], onChange }: FieldsProps) {
  const required = new Set(schema.required);
  const all = Object.entries(schema.properties ?? {}).filter(([name]) => !without.includes(name));
  // Required fields come first, notes last.
  const rank = (name: string): number =>
    required.has(name) ? 0 : name === "metadata" || name === "description" ? 2 : 1;
  const sorted = all.toSorted(([one], [other]) => rank(one) - rank(other));
  return (
    <div class="column">
      {sorted.map(([name, given]) => (
        <Field
          key={name}
          name={name}
          path={path === "" ? name : `${path}.${name}`}
          description={description}
          schema={description.resolve(given)}
          isRequired={required.has(name)}
          value={value[name]}
          faults={faults}
          onChange={(next) => {
            const { [name]: _, ...rest } = value;
            onChange(next === undefined ? rest : { ...value, [name]: next });
          }}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly path: string;
  readonly description: Description;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly value: Json | undefined;
  readonly faults: Readonly<Record<string, string>>;
  /** @param value undefined: not set */
  onChange(value: Json | undefined): void;
}

function Field(props: FieldProps) {
  const { name, path, schema, isRequired, faults } = props;
  const id = `${useContext(FormName)}-${path}`;
  const fault = faults[path];
  return (
    <div class="field">
      <label for={id}>
        {titleOf(name)} {isRequired && <span class="muted small">required</span>}
      </label>
      <Control {...props} id={id} />
      {schema.description !== undefined && (
        <span class="muted small" id={`${id}-help`}>
          <Doc text={schema.description} />
        </span>
      )}
      {fault !== undefined && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}

type ControlProps = FieldProps & {
  readonly id: string;
  /** Name of the field, if no label on the page contains it. */
  readonly label?: string;
};

function typeOf({ type }: Schema): string {
  return (typeof type === "object" ? type.find((one) => one !== "null") : type) ?? "string";
}

function Control(props: ControlProps) {
  const { schema, id, label, value, isRequired, onChange } = props;
  const type = typeOf(schema);
  const described = { id, "aria-label": label, "aria-describedby": `${id}-help` };
  if (schema["x-ref"] && type === "string") return <Reference {...props} kinds={schema["x-ref"]} />;
  if (schema.enum) {
    return (
      <select
        {...described}
        value={valueText(value ?? schema["x-default"])}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {(!isRequired || value === undefined) && <option value="">{""}</option>}
        {schema.enum.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  }
  if (type === "boolean") {
    const checked = value === undefined || value === null ? schema["x-default"] === true : value === true;
    return (
      <input
        {...described}
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (type === "integer" || type === "number") {
    return (
      <input
        {...described}
        type="number"
        min={schema.minimum}
        max={schema.maximum}
        step={type === "integer" ? 1 : "any"}
        placeholder={valueText(schema["x-default"])}
        value={valueText(value)}
        onInput={(event) => onChange(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))}
      />
    );
  }
  if (type === "array") return <Several {...props} />;
  if (type === "object" && schema.properties) return <Inner {...props} />;
  if (type === "object") return <Pairs {...props} />;
  return <Text {...props} />;
}

function Text({ id, label, schema, value, description, onChange }: ControlProps) {
  const [shows, setShows] = useState(false);
  const text = typeof value === "string" ? value : "";
  const example = schema.examples?.[0];
  const shared = {
    id,
    ...(label !== undefined && { "aria-label": label }),
    "aria-describedby": `${id}-help`,
    placeholder: example === undefined ? "" : `e.g. ${valueText(example)}`,
    autocomplete: "off",
  } as const;
  const give = (next: string): void => onChange(next);
  if (schema["x-format"] === "traffic-policy") {
    return <PolicyField id={id} value={text} description={description} onChange={give} />;
  }
  if ((schema["x-max-bytes"] ?? 0) > 4_096) {
    return <TextArea {...shared} rows={6} spellcheck={false} value={text} onText={give} />;
  }
  if (!schema["x-secret"]) return <TextInput {...shared} type="text" value={text} onText={give} />;
  return (
    <div class="row">
      <TextInput {...shared} class="grow" type={shows ? "text" : "password"} value={text} onText={give} />
      <button type="button" aria-pressed={shows} onClick={() => setShows(!shows)}>
        {shows ? "Hide" : "Show"}
      </button>
    </div>
  );
}

function Several({ id, name, path, schema, value, description, faults, onChange }: ControlProps) {
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  const of = description.resolve(schema.items ?? {});
  const change = (at: number, next: Json | undefined): void =>
    onChange(items.map((one, other) => (other === at ? (next ?? "") : one)));
  const empty: Json = typeOf(of) === "object" ? {} : "";
  return (
    <div class="several" id={id} role="group" aria-label={titleOf(name)}>
      {items.map((one, at) => (
        <div class="row" key={at}>
          <div class="grow">
            <Control
              id={`${id}[${at}]`}
              label={`${titleOf(name)} ${at + 1}`}
              name={String(at)}
              path={`${path}[${at}]`}
              description={description}
              schema={of}
              isRequired
              value={one}
              faults={faults}
              onChange={(next) => change(at, next)}
            />
            {faults[`${path}[${at}]`] !== undefined && <span class="fault">{faults[`${path}[${at}]`]}</span>}
          </div>
          <button
            type="button"
            class="tiny"
            aria-label={`Remove entry ${at + 1}`}
            onClick={() => onChange(items.filter((_, other) => other !== at))}
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" class="tiny" onClick={() => onChange([...items, empty])}>
        + Add
      </button>
    </div>
  );
}

function Inner({ path, schema, value, description, faults, isRequired, onChange }: ControlProps) {
  const isOn = value !== undefined && value !== null;
  return (
    <fieldset class="inner">
      {!isRequired && (
        <label class="row">
          <input
            type="checkbox"
            checked={isOn}
            onChange={(event) => onChange(event.currentTarget.checked ? {} : null)}
          />
          {isOn ? "set" : "not set"}
        </label>
      )}
      {(isOn || isRequired) && (
        <Fields
          description={description}
          schema={schema}
          value={(value ?? {}) as JsonObject}
          faults={faults}
          path={path}
          onChange={onChange}
        />
      )}
    </fieldset>
  );
}

/** Edits names and values, one pair per line. The text is preserved while a pair is incomplete. */
function Pairs({ id, label, value, onChange }: ControlProps) {
  const [text, setText] = useState(
    Object.entries((value ?? {}) as JsonObject)
      .map(([name, one]) => `${name}=${typeof one === "string" ? one : JSON.stringify(one)}`)
      .join("\n"),
  );
  return (
    <textarea
      id={id}
      aria-label={label}
      rows={3}
      spellcheck={false}
      placeholder="name=value, one per line"
      value={text}
      onInput={(event) => {
        setText(event.currentTarget.value);
        const lines = event.currentTarget.value.split("\n").filter((line) => line.includes("="));
        onChange(
          Object.fromEntries(
            lines.map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1).trim()]),
          ),
        );
      }}
    />
  );
}
