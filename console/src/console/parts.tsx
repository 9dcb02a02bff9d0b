/** Components of the console's views. */
import type { ComponentChildren } from "preact";
import { Copy, Tag, TextInput } from "../ui/elements.tsx";
import type { Tone } from "../ui/format.ts";
import type { Json } from "./api.ts";

interface HeadProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly doc?: string;
}

export function Head({ title, children, doc }: HeadProps) {
  return (
    <header class="head">
      <div class="row">
        <h1 class="grow">{title}</h1>
        {children}
      </div>
      {doc !== undefined && (
        <p class="muted">
          <Doc text={doc} />
        </p>
      )}
    </header>
  );
}

/** Shows a sentence of the API's description, whose names are in backticks. */
export function Doc({ text }: { readonly text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>;
}

interface ListFilterProps {
  readonly class?: string;
  readonly label?: string;
  readonly placeholder: string;
  readonly value: string;
  onText(text: string): void;
}

/** Search text of a list. */
export function ListFilter({ label = "Filter", ...rest }: ListFilterProps) {
  return <TextInput id="list-filter" type="search" aria-label={label} {...rest} />;
}

export function Failed({ error, again }: { readonly error: string; again?(): void }) {
  if (error === "") return null;
  return (
    <p class="notice bad row" role="alert">
      <span class="grow">{error}</span>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </p>
  );
}

/** Shows an id that a click copies. */
export function Id({ id }: { readonly id: string }) {
  return (
    <Copy text={id} label={`Copy ${id}`} kind="plain tiny mono id">
      {id}
    </Copy>
  );
}

const outcomes: Readonly<Record<string, Tone>> = {
  forwarded: "good",
  passed: "good",
  changed: "info",
  answered: "info",
  skipped: "",
  denied: "bad",
  failed: "bad",
};

export function Outcome({ outcome }: { readonly outcome: string }) {
  return <Tag tone={outcomes[outcome] ?? ""}>{outcome}</Tag>;
}

/** Formats a value of an object on one line. */
export function valueText(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return (value as readonly Json[]).map(valueText).join(", ");
  const fields = value as Readonly<Record<string, Json>>;
  if (typeof fields["id"] === "string" && typeof fields["uri"] === "string") return fields["id"];
  return Object.entries(fields)
    .map(([name, one]) => `${name}: ${valueText(one)}`)
    .join(", ");
}

/** Whether the value is a time in the API's format. */
export function isTime(value: Json | undefined): value is string {
  return typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value);
}
