/** Selects an existing object. A long list shows only the objects that match the typed text. */
import { createContext } from "preact";
import type { ComponentType } from "preact";
import { useContext, useState } from "preact/hooks";
import { TextInput } from "../ui/elements.tsx";
import type { ApiObject, Json } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind } from "./description.ts";
import { labelOf } from "./label.ts";
import { loadNewest } from "./lists.ts";
import { useData, useSettled } from "./use-data.ts";

interface NewObjectProps {
  readonly kind: Kind;
  readonly description: Description;
  /** @param made undefined: cancelled */
  onDone(made: ApiObject | undefined): void;
}

/** The form for a new object, which itself contains references. */
export const NewObject = createContext<ComponentType<NewObjectProps> | undefined>(undefined);

const newValue = "new:";

interface ReferenceProps {
  readonly id: string;
  /** Name of the field, if no label on the page contains it. */
  readonly label?: string | undefined;
  readonly kinds: readonly string[];
  readonly value: Json | undefined;
  readonly isRequired: boolean;
  readonly description: Description;
  /** @param value null: none selected; undefined: not set yet */
  onChange(value: Json | undefined): void;
}

export function Reference({ id, label, kinds, value, isRequired, description, onChange }: ReferenceProps) {
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [made, setMade] = useState<ApiObject>();
  const [adds, setAdds] = useState<Kind>();
  const Form = useContext(NewObject);
  const found = useData(() => objectsOf(kinds, description, asked), [kinds.join(), asked, made]);
  const creatable = kinds.flatMap((name) => {
    const kind = description.kinds.get(name);
    return Form && kind?.create !== undefined && kind.parents === 0 ? [kind] : [];
  });
  const known = found.value?.items ?? [];
  const isUnknown = typeof value === "string" && value !== "" && !known.some((one) => one.id === value);
  const none = asked === "" ? `no ${kinds.map(titleOf).join(" or ")} yet` : "nothing fits";
  const select = (
    <select
      id={id}
      aria-label={label}
      value={typeof value === "string" ? value : ""}
      onChange={(event) => {
        const { value: chosen } = event.currentTarget;
        if (chosen.startsWith(newValue)) {
          event.currentTarget.value = typeof value === "string" ? value : "";
          setAdds(description.kinds.get(chosen.slice(newValue.length)));
        } else onChange(chosen || (isRequired ? undefined : null));
      }}
    >
      <option value="">{found.value && known.length === 0 ? none : "choose …"}</option>
      {isUnknown && <option>{value}</option>}
      {known.map((one) => (
        <option key={one.id} value={one.id}>
          {labelOf(one)}
        </option>
      ))}
      {creatable.map(({ name }) => (
        <option key={name} value={`${newValue}${name}`}>{`New ${titleOf(name)} …`}</option>
      ))}
    </select>
  );
  const form = Form && adds && (
    <Form
      kind={adds}
      description={description}
      onDone={(object) => {
        setAdds(undefined);
        if (!object) return;
        setMade(object);
        onChange(object.id);
      }}
    />
  );
  if (asked === "" && text === "" && found.value?.more !== true) {
    return (
      <>
        {select}
        {form}
      </>
    );
  }
  return (
    <div class="column">
      <TextInput
        type="search"
        aria-label={`Search for ${kinds.map(titleOf).join(" or ")}`}
        placeholder="Many exist: type a part of the name …"
        value={text}
        onText={setText}
      />
      {select}
      {form}
    </div>
  );
}

/** Returns the newest objects of the kinds that contain the text, and whether there are more. */
async function objectsOf(
  kinds: readonly string[],
  description: Description,
  text: string,
): Promise<{ readonly items: readonly ApiObject[]; readonly more: boolean }> {
  const pages = kinds.map(async (name) => {
    const kind = description.kinds.get(name);
    if (kind?.list === undefined || kind.parents > 0) return undefined;
    return await loadNewest(kind, description, text, 50, { isNow: true });
  });
  const found = (await Promise.all(pages)).filter((page) => page !== undefined);
  return {
    items: found.flatMap(({ items }) => items),
    more: found.some(({ nextBeforeId }) => nextBeforeId !== undefined),
  };
}
