/** Shows references to objects by the objects' names. */
import { Time } from "../ui/elements.tsx";
import type { Json } from "./api.ts";
import { kindOfId } from "./description.ts";
import type { Description } from "./description.ts";
import { useName } from "./names.ts";
import { isTime, valueText } from "./parts.tsx";
import { linkTo } from "./router.ts";

interface NameProps {
  readonly id: string;
  readonly description: Description;
  /** Default: the name. */
  readonly text?: string;
}

/** Links to an object. Without a name, shows the id. */
export function Name({ id, description, text }: NameProps) {
  const named = useName(id, description);
  const kind = kindOfId(id, description) ?? "";
  const shown = text ?? named?.text;
  return (
    <a href={named?.href ?? linkTo("objects", kind, id)} title={id} class={shown === undefined ? "mono" : undefined}>
      {shown ?? id}
    </a>
  );
}

const idPattern = /\b[a-z]{2,12}_[0-9a-z]{20,40}\b/;

/** Shows a sentence of the server, with names instead of ids: `allowed by rule ipr_…, 192.0.2.0/24`. */
export function WithNames({ text, description }: { readonly text: string; readonly description: Description }) {
  const found = idPattern.exec(text);
  if (!found || kindOfId(found[0], description) === undefined) return <>{text}</>;
  const [id] = found;
  return (
    <>
      {text.slice(0, found.index)}
      <Name id={id} description={description} />
      <Rest id={id} text={text.slice(found.index + id.length)} description={description} />
    </>
  );
}

/** The sentence after a name. A rule without a description is named by its range, which the sentence repeats. */
function Rest({ id, text, description }: { readonly id: string } & Parameters<typeof WithNames>[0]) {
  const again = `, ${useName(id, description)?.text}`;
  return <WithNames text={text.startsWith(again) ? text.slice(again.length) : text} description={description} />;
}

interface ValueProps {
  readonly value: Json | undefined;
  readonly description: Description;
}

/** Shows a value with links to referenced objects. */
export function Value({ value, description }: ValueProps) {
  if (Array.isArray(value)) {
    return (
      <>
        {(value as readonly Json[]).map((one, at) => (
          <span key={at}>
            {at > 0 && ", "}
            <Value value={one} description={description} />
          </span>
        ))}
      </>
    );
  }
  if (isTime(value)) return <Time at={value} />;
  const id = (value as { readonly id?: unknown } | null)?.id;
  return typeof id === "string" && kindOfId(id, description) !== undefined ? (
    <Name id={id} description={description} />
  ) : (
    <>{valueText(value)}</>
  );
}
