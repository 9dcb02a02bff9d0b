/** A route of an HTTPS edge: its modules in the order of traffic, each with a form. */
import { useEffect, useState } from "preact/hooks";
import type { HTTPSEdgeRoute } from "../../../sdk/src/index.ts";
import { Dialog, Tag } from "../ui/elements.tsx";
import type { ApiObject, JsonObject } from "./api.ts";
import { asOf, atRevision, postern } from "./api.ts";
import { Review } from "./change.tsx";
import { titleOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";
import { Fields } from "./form.tsx";
import { configurationChanges } from "./live-changes.ts";
import { Doc, Failed, Id } from "./parts.tsx";
import { PolicyRoute } from "./policy/at-the-edge.ts";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";
import { fieldsOf } from "./writes.ts";
import type { Change } from "./writes.ts";

interface RouteProps {
  readonly description: Description;
  readonly kind: Kind;
  readonly route: HTTPSEdgeRoute;
}

function modulesOf(kind: Kind, { resolve }: Description): readonly (readonly [name: string, schema: Schema])[] {
  return Object.entries(kind.shown.properties ?? {}).filter(
    ([, schema]) => "enabled" in (resolve(schema).properties ?? {}),
  );
}

/** @param place position in matching order */
export function Route({
  place: at,
  isOpen: isAsked,
  ...props
}: RouteProps & { readonly place: number; readonly isOpen: boolean }) {
  const { kind, route, description } = props;
  const [isOpen, setOpen] = useState(isAsked);
  useEffect(() => setOpen(isAsked), [isAsked]);
  const object = route as unknown as ApiObject;
  return (
    <details class="panel route" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="tag">{at}</span> <strong class="mono">{route.match}</strong>{" "}
        <span class="muted small">{route.match_type === "exact_path" ? "this path" : "and paths below"}</span>{" "}
        {modulesOf(kind, description)
          .filter(([name]) => object[name] !== null)
          .map(([name]) => (
            <Tag key={name} tone={(object[name] as { enabled?: boolean }).enabled === false ? "" : "info"}>
              {titleOf(name)}
            </Tag>
          ))}
      </summary>
      {isOpen && <Opened {...props} />}
    </details>
  );
}

/** Reads the route with its ETag, which prevents overwriting changes of other users. */
function Opened({ kind, route, description }: RouteProps) {
  const own = useData(
    () => postern.edges.https.routes.get(route.edge_id, route.id, asOf()),
    [route.id, configurationChanges.value, atRevision.value],
  );
  return (
    <>
      <Failed error={own.error} again={own.again} />
      {own.value && <Pipeline kind={kind} route={own.value} description={description} onWritten={own.show} />}
    </>
  );
}

interface PipelineProps extends RouteProps {
  /** @param route current state, the base of the next change */
  onWritten(route: HTTPSEdgeRoute): void;
}

/** Shows the modules in the order of traffic with their actions. */
function Pipeline({ kind, route, description, onWritten }: PipelineProps) {
  const [edited, setEdited] = useState<string>();
  const [change, setChange] = useState<Change>();
  const object = route as unknown as ApiObject;
  const modules = modulesOf(kind, description);
  const parents = [route.edge_id];
  const isNow = atRevision.value === undefined;
  const written = (answer: ApiObject | undefined): void => {
    if (answer) onWritten(answer as unknown as HTTPSEdgeRoute);
  };
  const toggle = (name: string, on: boolean): void => {
    const fields = fieldsOf(object, kind, description);
    setChange({
      kind,
      parents,
      object,
      input: { ...fields, [name]: { ...(fields[name] as JsonObject), enabled: on } },
    });
  };
  return (
    <>
      <ol class="pipeline" aria-label="Modules in traffic order">
        {modules.map(([name, schema]) => {
          const config = object[name] as JsonObject | null;
          const { description: doc } = description.resolve(schema);
          return (
            <li key={name} class={config === null ? "absent" : ""}>
              <input
                type="checkbox"
                class="switch"
                aria-label={`${titleOf(name)} is applied`}
                checked={config !== null && config["enabled"] !== false}
                disabled={!isNow}
                onChange={(event) => {
                  event.currentTarget.checked = config !== null && config["enabled"] !== false;
                  if (config === null) setEdited(name);
                  else toggle(name, config["enabled"] === false);
                }}
              />
              <div class="grow">
                <span>
                  <strong>{titleOf(name)}</strong> {config?.["enabled"] === false && <Tag>disabled</Tag>}
                </span>
                <p class="muted small">
                  <Doc text={doc ?? ""} />
                </p>
              </div>
              {isNow && (
                <button type="button" class="tiny" onClick={() => setEdited(name)}>
                  {config === null ? "Set" : "Edit"}
                </button>
              )}
              {isNow && config !== null && (
                <button
                  type="button"
                  class="tiny danger"
                  onClick={() =>
                    setChange({
                      kind,
                      parents,
                      object,
                      input: { ...fieldsOf(object, kind, description), [name]: null },
                    })
                  }
                >
                  Remove
                </button>
              )}
            </li>
          );
        })}
      </ol>
      <div class="row inside">
        <Id id={route.id} />
        <a class="small" href={linkTo("history", route.id)}>
          History
        </a>
        <span class="grow" />
        {isNow && (
          <button type="button" class="tiny danger" onClick={() => setChange({ kind, parents, object, input: null })}>
            Delete the route
          </button>
        )}
      </div>
      {edited !== undefined && (
        <ModuleForm
          key={edited}
          name={edited}
          object={object}
          kind={kind}
          parents={parents}
          description={description}
          onWritten={written}
          onClose={() => setEdited(undefined)}
        />
      )}
      {change && (
        <Review
          change={change}
          description={description}
          onDone={(answer) => {
            written(answer);
            setChange(undefined);
          }}
          onClose={() => setChange(undefined)}
        />
      )}
    </>
  );
}

interface ModuleProps {
  readonly description: Description;
  readonly name: string;
  readonly object: ApiObject;
  readonly kind: Kind;
  readonly parents: readonly string[];
  onWritten(answer: ApiObject | undefined): void;
  onClose(): void;
}

function ModuleForm({ name, object, kind, parents, description, onWritten, onClose }: ModuleProps) {
  // The route when the form was opened. Changes of other users since then are reported as a conflict.
  const [base] = useState(object);
  const fields = fieldsOf(base, kind, description);
  const [value, setValue] = useState<JsonObject>((fields[name] ?? {}) as JsonObject);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [change, setChange] = useState<Change>();
  const schema: Schema = description.resolve(kind.updateSchema?.properties?.[name] ?? {});
  if (change) {
    return (
      <Review
        change={change}
        description={description}
        onFaults={(found) => {
          if (Object.keys(found).some((path) => path.startsWith(`${name}.`))) setChange(undefined);
          const prefix = `${name}.`;
          setFaults(
            Object.fromEntries(
              Object.entries(found).map(([path, text]) => [
                path.startsWith(prefix) ? path.slice(prefix.length) : path,
                text,
              ]),
            ),
          );
        }}
        onDone={(answer) => {
          onWritten(answer);
          onClose();
        }}
        onClose={() => setChange(undefined)}
      />
    );
  }
  return (
    <Dialog title={titleOf(name)} onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          setChange({ kind, parents, object: base, input: { ...fields, [name]: value } });
        }}
      >
        <p class="muted">{schema.description}</p>
        <PolicyRoute.Provider value={{ edgeId: parents[0] ?? "", routeId: object.id }}>
          <Fields description={description} schema={schema} value={value} faults={faults} onChange={setValue} />
        </PolicyRoute.Provider>
        <div class="row">
          <span class="grow" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Review …
          </button>
        </div>
      </form>
    </Dialog>
  );
}
