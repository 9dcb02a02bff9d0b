/** Edges as traffic meets them: names, routes in the order in which they are matched, modules in the order of traffic. */
import { useState } from "preact/hooks";
import type { HTTPSEdge, HTTPSEdgeRoute } from "../../../sdk/src/index.ts";
import { Dialog, Tag } from "../ui/elements.tsx";
import type { ApiObject, JsonObject } from "./api.ts";
import { atRevision, postern } from "./api.ts";
import { Review } from "./change.tsx";
import { fieldsOf } from "./writes.ts";
import type { Change } from "./writes.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";
import { Fields } from "./form.tsx";
import { configurationChanges } from "./live.ts";
import { Edit } from "./objects.tsx";
import { Failed, Head, Id } from "./parts.tsx";
import { PolicyRoute } from "./policy/at-the-edge.ts";
import { linkTo, place } from "./router.ts";
import { useData } from "./use-data.ts";

interface Props {
  readonly description: Description;
}

const then = () => (atRevision.value === undefined ? {} : { at_revision: atRevision.value });

export function Edges({ description }: Props) {
  const [edgeId, routeId] = place.value.rest;
  if (edgeId !== undefined) return <Edge key={edgeId} id={edgeId} routeId={routeId} description={description} />;
  return <List />;
}

function List() {
  const { value, error, again } = useData(
    async () => (await postern.edges.https.list({ limit: 100, ...then() }).page()).items,
    [configurationChanges.value, atRevision.value],
  );
  return (
    <section class="column" aria-label="Edges">
      <Head title="HTTPS edges" doc="A public name, what may pass there, and where it goes.">
        <a class="button" href={linkTo("objects", "tls_edge")}>
          TLS edges
        </a>
        <a class="button" href={linkTo("objects", "tcp_edge")}>
          TCP edges
        </a>
        <a class="button primary" href="#/publish">
          Publish a service
        </a>
      </Head>
      <Failed error={error} again={again} />
      {value?.length === 0 && (
        <div class="empty">
          <p>An edge puts a name of yours in front of services, with rules for who may pass. There is none yet.</p>
          <a class="button primary" href="#/publish">
            Publish a service
          </a>
        </div>
      )}
      <ul class="cards">
        {value?.map((edge) => (
          <li key={edge.id} class="panel">
            <a href={linkTo("edges", edge.id)}>
              <strong>{nameOf(edge)}</strong>
            </a>
            <span class="muted small">{edge.description}</span>
            <span class="row">
              {edge.routes.length} {edge.routes.length === 1 ? "route" : "routes"}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Edge({ id, routeId, description }: Props & { readonly id: string; readonly routeId: string | undefined }) {
  const edge = useData(() => postern.edges.https.get(id, then()), [id, configurationChanges.value, atRevision.value]);
  const known = edge.value?.routes.map((one) => one.id) ?? [];
  // Each by itself, with the ETag that keeps others' changes from being overwritten.
  const routes = useData(
    () => Promise.all(known.map((one) => postern.edges.https.routes.get(id, one, then()))),
    [known.join(), configurationChanges.value, atRevision.value],
  );
  const [adds, setAdds] = useState(false);
  const kind = description.kinds.get("https_edge_route");
  const all = inOrder(routes.value ?? []);
  return (
    <section class="column" aria-label="Edge">
      <a class="back always" href="#/edges">
        ‹ All edges
      </a>
      <Head
        title={edge.value ? nameOf(edge.value) : "Edge"}
        {...(edge.value?.description && { doc: edge.value.description })}
      >
        <Names edge={edge.value} />
        <a class="button" href={linkTo("objects", "https_edge", id)}>
          All fields
        </a>
        <a class="button" href={`#/explain?edge=${id}`}>
          Explain
        </a>
        {atRevision.value === undefined && (
          <button type="button" class="primary" onClick={() => setAdds(!adds)}>
            Add a route
          </button>
        )}
      </Head>
      <Failed error={edge.error || routes.error} again={edge.again} />
      {adds && kind && (
        <Edit
          kind={kind}
          description={description}
          parents={[id]}
          first={{ match_type: "path_prefix", match: "/" }}
          onDone={() => setAdds(false)}
        />
      )}
      {routes.value?.length === 0 && !adds && (
        <p class="empty">Without a route every request is answered 404. Add one.</p>
      )}
      {kind &&
        all.map((route, at) => (
          <Route
            key={route.id}
            place={at + 1}
            route={route}
            kind={kind}
            description={description}
            isOpen={routeId === undefined ? all.length === 1 : route.id === routeId}
          />
        ))}
    </section>
  );
}

function Names({ edge }: { readonly edge: HTTPSEdge | undefined }) {
  const [first] = edge?.hostports ?? [];
  if (first === undefined || first.startsWith("*")) return null;
  return (
    <a class="button" href={`https://${first.replace(/:443$/, "")}`} target="_blank" rel="noreferrer">
      Open ↗
    </a>
  );
}

/** As the edge tries them: exact paths first, then the longest beginning. */
function inOrder(routes: readonly HTTPSEdgeRoute[]): readonly HTTPSEdgeRoute[] {
  const rank = ({ match_type }: HTTPSEdgeRoute): number => (match_type === "exact_path" ? 0 : 1);
  return routes.toSorted((one, other) => rank(one) - rank(other) || other.match.length - one.match.length);
}

interface RouteProps extends Props {
  readonly kind: Kind;
  readonly route: HTTPSEdgeRoute;
  readonly place: number;
  readonly isOpen: boolean;
}

function Route({ kind, route, place: at, description, isOpen }: RouteProps) {
  const [edited, setEdited] = useState<string>();
  const [change, setChange] = useState<Change>();
  const object = route as unknown as ApiObject;
  const modules = Object.entries(kind.shown.properties ?? {}).filter(
    ([, schema]) => "enabled" in (description.resolve(schema).properties ?? {}),
  );
  const parents = [route.edge_id];
  const isNow = atRevision.value === undefined;
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
    <details class="panel route" open={isOpen}>
      <summary>
        <span class="tag">{at}</span> <strong class="mono">{route.match}</strong>{" "}
        <span class="muted small">{route.match_type === "exact_path" ? "this path" : "and what is below"}</span>{" "}
        {modules
          .filter(([name]) => object[name] !== null)
          .map(([name]) => (
            <Tag key={name} tone={(object[name] as { enabled?: boolean }).enabled === false ? "" : "info"}>
              {titleOf(name)}
            </Tag>
          ))}
      </summary>
      <ol class="pipeline" aria-label="Modules in the order of traffic">
        {modules.map(([name, schema]) => {
          const config = object[name] as JsonObject | null;
          const { description: doc } = description.resolve(schema);
          return (
            <li key={name} class={config === null ? "absent" : ""}>
              <input
                type="checkbox"
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
                <strong>{titleOf(name)}</strong> {config?.["enabled"] === false && <Tag>disabled</Tag>}
                <p class="muted small">{doc}</p>
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
          onClose={() => setEdited(undefined)}
        />
      )}
      {change && (
        <Review
          change={change}
          description={description}
          onDone={() => setChange(undefined)}
          onClose={() => setChange(undefined)}
        />
      )}
    </details>
  );
}

interface ModuleProps extends Props {
  readonly name: string;
  readonly object: ApiObject;
  readonly kind: Kind;
  readonly parents: readonly string[];
  onClose(): void;
}

function ModuleForm({ name, object, kind, parents, description, onClose }: ModuleProps) {
  // The route as it was when the form was opened: what others do meanwhile is a conflict, and is said.
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
        onDone={onClose}
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

/** An edge may have no name, and is told apart by its description then. */
function nameOf({ hostports }: HTTPSEdge): string {
  return hostports?.join(", ") || "no name yet";
}
