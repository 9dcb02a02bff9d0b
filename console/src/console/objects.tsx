/** Objects of any kind: a table, one object, and its form. */
import { useEffect, useState } from "preact/hooks";
import { Command, Dialog } from "../ui/elements.tsx";
import type { ApiObject, Json, JsonObject } from "./api.ts";
import { atRevision, callOperation, isPast, readOptions } from "./api.ts";
import { asDocument } from "./as-document.ts";
import { Review, pathOf } from "./change.tsx";
import { fieldsOf } from "./writes.ts";
import type { Change } from "./writes.ts";
import { Copies } from "./copies.tsx";
import { titleOf } from "./description.ts";
import type { Description, Schema } from "./description.ts";
import { Fields, FormName } from "./form.tsx";
import { labelOf } from "./label.ts";
import { configurationChanges, repeatWhileVisible, rereadMs } from "./live-changes.ts";
import { Gone } from "./gone.tsx";
import { Invitation } from "./invite.tsx";
import { Value } from "./named.tsx";
import { Failed, Head, Id } from "./parts.tsx";
import { Moment, moments } from "./moment.tsx";
import { PolicyProtocol, protocolOf } from "./policy/policy-field.tsx";
import { CertificateProgress } from "./certificate-progress.tsx";
import { Pulse } from "./pulse.tsx";
import { Commands, UsedBy } from "./related.tsx";
import { goTo, replacePlace, linkTo, place } from "./router.ts";
import type { KindProps } from "./table.tsx";
import { Tester } from "./testers.tsx";
import { useData } from "./use-data.ts";

/** Shows one object and its form. */
export function One({ kind, description, parents = [], id }: KindProps & { readonly id: string }) {
  const data = useData(
    () => callOperation(kind.get ?? "", ...parents, id, readOptions(kind.get ?? "")),
    [kind.name, id, atRevision.value, configurationChanges.value],
  );
  const [deletes, setDeletes] = useState(false);
  const [edits, setEdits] = useState(false);
  const isNow = !isPast(kind.get);
  const comesByItself = kind.create === undefined;
  useEffect(
    () => (comesByItself && isNow ? repeatWhileVisible(rereadMs, data.again) : undefined),
    [comesByItself, isNow],
  );
  // Edits in progress are preserved, and the page reports that the object was deleted.
  const isGone = data.isGone && !edits && !deletes;
  const object = isGone ? undefined : data.value;
  const yaml = object && asDocument(kind, parents, object, fieldsOf(object, kind, description), description);
  return (
    <section aria-label={titleOf(kind.name)} class="column">
      <Head title={data.value ? labelOf(data.value) : titleOf(kind.name)} doc={kind.doc}>
        <Id id={id} />
        {object && isNow && <Commands kind={kind} id={id} />}
        {object && isNow && kind.update !== undefined && !edits && (
          <button type="button" class="primary" onClick={() => setEdits(true)}>
            Edit
          </button>
        )}
        {object && isNow && kind.remove !== undefined && (
          <button type="button" class="danger" onClick={() => setDeletes(true)}>
            Delete
          </button>
        )}
      </Head>
      {isGone ? <Gone kind={kind} id={id} /> : <Failed error={data.error} again={data.again} />}
      {object && !edits && (
        <dl class="panel inside pairs">
          {Object.entries(object)
            .filter(([name]) => name !== "uri" && name !== "id")
            .map(([name, value]) => [
              <dt key={`${name}n`}>{titleOf(name)}</dt>,
              <dd key={`${name}v`}>
                {moments.has(name) ? (
                  <Moment name={name} at={value} />
                ) : (
                  <Deep value={value} description={description} />
                )}
              </dd>,
            ])}
        </dl>
      )}
      {object && edits && (
        <Edit
          kind={kind}
          description={description}
          parents={parents}
          object={object}
          onDone={(answer) => {
            if (answer) data.show(answer);
            setEdits(false);
          }}
        />
      )}
      {object && isNow && kind.name === "tunnel_session" && <Pulse id={id} />}
      {object && !edits && <CertificateProgress object={object} />}
      {object && isNow && !edits && <Tester kind={kind} object={object} description={description} />}
      {object && !edits && <UsedBy kind={kind} description={description} id={id} />}
      {object && (
        <p class="row small">
          <a href={linkTo("history", id)}>Show history</a>
          <span class="grow" />
          <Copies method="GET" path={pathOf(kind, parents, id)} {...(yaml !== undefined && { yaml })} />
        </p>
      )}
      {object && deletes && (
        <Review
          change={{ kind, parents, object, input: null }}
          description={description}
          onDone={() => goTo(`objects/${kind.name}`)}
          onClose={() => setDeletes(false)}
        />
      )}
    </section>
  );
}

function Deep({ value, description }: { readonly value: Json; readonly description: Description }) {
  const isPlain = typeof value !== "object" || value === null || Array.isArray(value) || "id" in value;
  if (isPlain)
    return typeof value === "string" && value.includes("\n") ? (
      <pre>{value}</pre>
    ) : (
      <Value value={value} description={description} />
    );
  return (
    <dl class="pairs">
      {Object.entries(value as JsonObject).map(([name, one]) => [
        <dt key={`${name}n`}>{name}</dt>,
        <dd key={`${name}v`}>
          <Deep value={one} description={description} />
        </dd>,
      ])}
    </dl>
  );
}

interface EditProps extends KindProps {
  /** Absent for a new object. */
  readonly object?: ApiObject;
  readonly first?: JsonObject;
  /** Whether the initial fields are complete, so that the review opens immediately. */
  readonly reviews?: boolean;
  onDone(answer: ApiObject | undefined): void;
}

export function Edit({ kind, description, parents = [], object, first = {}, reviews = false, onDone }: EditProps) {
  // Reloaded data must not replace the user's edits.
  const [base] = useState(object);
  const [value, setValue] = useState<JsonObject>(base ? fieldsOf(base, kind, description) : first);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [change, setChange] = useState<Change | undefined>(reviews ? { kind, parents, input: first } : undefined);
  const schema = (base ? kind.updateSchema : kind.createSchema) ?? {};
  const inPath = [...kind.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return (
    <form
      class="panel inside column"
      onSubmit={(event) => {
        event.preventDefault();
        // The form may be in a dialog that another form opened.
        event.stopPropagation();
        setFaults({});
        setChange({ kind, parents, ...(base && { object: base }), input: value });
      }}
    >
      <PolicyProtocol.Provider value={protocolOf(kind.name, value)}>
        <Fields
          description={description}
          schema={schema}
          value={value}
          faults={faults}
          without={inPath}
          onChange={setValue}
        />
      </PolicyProtocol.Provider>
      <div class="row">
        <span class="grow" />
        <button type="button" onClick={() => onDone(undefined)}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Review …
        </button>
      </div>
      {change && (
        <Review
          change={change}
          description={description}
          onFaults={(found) => {
            setFaults(found);
            // The form shows them at their fields.
            if (Object.keys(found).some((path) => isField(path, schema))) setChange(undefined);
          }}
          onDone={(answer) => {
            setChange(undefined);
            onDone(answer);
          }}
          onClose={() => setChange(undefined)}
        />
      )}
    </form>
  );
}

/** Creates an object that another form needs, in a dialog above the form. */
export function NewInPlace({ kind, description, onDone }: KindProps & { onDone(made: ApiObject | undefined): void }) {
  return (
    <Dialog title={`New ${titleOf(kind.name)}`} onClose={() => onDone(undefined)}>
      <FormName.Provider value={`new-${kind.name}`}>
        <Edit kind={kind} description={description} onDone={onDone} />
      </FormName.Provider>
    </Dialog>
  );
}

function isField(path: string, { properties = {} }: Schema): boolean {
  return (path.split(/[.[]/, 1)[0] ?? "") in properties;
}

/** Fields that only the response to the creation contains. */
const shownOnce = ["token", "code"];

/**
 * Creates an object, and shows values that are shown once. The address contains its initial fields, and `next` is the
 * view to open afterwards.
 */
export function New({ kind, description }: KindProps) {
  const [made, setMade] = useState<ApiObject>();
  const [{ next, review, ...first }] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(place.value.query),
  );
  if (made && typeof made["code"] === "string") return <Invitation made={made as never} />;
  const secret = made?.["token"];
  if (made && typeof secret === "string") {
    return (
      <section class="column" aria-label="Shown once">
        <Head title={titleOf(kind.name)} />
        <p class="notice warn">This value is shown only once. Store it in a safe place.</p>
        <Command text={secret} />
        <p>
          <a class="button" href={linkTo("objects", kind.name, made.id)}>
            I have it
          </a>
        </p>
      </section>
    );
  }
  return (
    <section class="column" aria-label={`New ${titleOf(kind.name)}`}>
      <Head title={`New ${titleOf(kind.name)}`} doc={kind.doc} />
      <Edit
        kind={kind}
        description={description}
        first={first}
        reviews={review === "now"}
        onDone={(answer) => {
          if (answer && shownOnce.some((name) => typeof answer[name] === "string")) setMade(answer);
          else replacePlace(next ?? (answer ? `objects/${kind.name}/${answer.id}` : `objects/${kind.name}`));
        }}
      />
    </section>
  );
}
