/** Shows edges with their names, and their routes in matching order. */
import { useState } from "preact/hooks";
import type { HTTPSEdge } from "../../../sdk/src/index.ts";
import { asOf, atRevision, postern } from "./api.ts";
import type { Description } from "./description.ts";
import { loadNewest } from "./lists.ts";
import type { ListPage } from "./lists.ts";
import { EdgeState } from "./edge-state.tsx";
import { Gone } from "./gone.tsx";
import { configurationChanges } from "./live-changes.ts";
import { Edit } from "./objects.tsx";
import { Failed, Head, ListFilter } from "./parts.tsx";
import { Route } from "./route.tsx";
import { inOrder } from "./route-order.ts";
import { linkTo, place } from "./router.ts";
import { ServiceFacts } from "./services/facts.tsx";
import { Protect } from "./services/protect.tsx";
import { ofHttpsEdge } from "./services/services.ts";
import { useData, useSettled } from "./use-data.ts";

interface Props {
  readonly description: Description;
}

export function Edges({ description }: Props) {
  const [edgeId, routeId] = place.value.rest;
  if (edgeId !== undefined) return <Edge key={edgeId} id={edgeId} routeId={routeId} description={description} />;
  return <List description={description} />;
}

const edgesOnPage = 24;

function List({ description }: Props) {
  const kind = description.kinds.get("https_edge");
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [more, setMore] = useState<readonly ListPage[]>([]);
  const first = useData(async () => {
    setMore([]);
    return kind && (await loadNewest(kind, description, asked, edgesOnPage));
  }, [asked, configurationChanges.value, atRevision.value]);
  const pages = first.value ? [first.value, ...more] : [];
  const edges = pages.flatMap(({ items }) => items) as unknown as readonly HTTPSEdge[];
  const before = pages.at(-1)?.nextBeforeId;
  const load = async (): Promise<void> => {
    if (kind) setMore([...more, await loadNewest(kind, description, asked, edgesOnPage, { before })]);
  };
  return (
    <section class="column" aria-label="Edges">
      <Head title="HTTPS edges" doc="Public names with their routes and access rules.">
        <ListFilter placeholder="Name or description" value={text} onText={setText} />
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
      <Failed error={first.error} again={first.again} />
      {first.value && edges.length === 0 && asked !== "" && <p class="empty">No edge matches the filter.</p>}
      {first.value && edges.length === 0 && asked === "" && (
        <div class="empty">
          <p>An edge publishes services at your host name, with access rules. You have no edges yet.</p>
          <a class="button primary" href="#/publish">
            Publish a service
          </a>
        </div>
      )}
      <ul class="cards">
        {edges.map((edge) => (
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
      {before !== undefined && (
        <button type="button" onClick={() => void load()}>
          Show earlier edges
        </button>
      )}
    </section>
  );
}

/** Maximum number of routes that are shown at first. */
const routesAtOnce = 50;

function Edge({ id, routeId, description }: Props & { readonly id: string; readonly routeId: string | undefined }) {
  const { isGone, ...edge } = useData(
    () => postern.edges.https.get(id, asOf()),
    [id, configurationChanges.value, atRevision.value],
  );
  const [adds, setAdds] = useState(false);
  const [protects, setProtects] = useState(false);
  const [text, setText] = useState("");
  const [shows, setShows] = useState(routesAtOnce);
  const owner = description.kinds.get("https_edge");
  const kind = description.kinds.get("https_edge_route");
  const service = edge.value && ofHttpsEdge(edge.value);
  const all = inOrder(edge.value?.routes ?? []).map((route, at) => ({ route, place: at + 1 }));
  const fitting = all.filter(({ route }) => `${route.match} ${route.description} ${route.id}`.includes(text.trim()));
  const asked = all.filter(({ route, place: at }) => route.id === routeId && at > shows);
  if (isGone && owner && !adds) {
    return (
      <section class="column" aria-label="Edge">
        <Head title={edge.value ? nameOf(edge.value) : "Edge"} />
        <Gone kind={owner} id={id} />
      </section>
    );
  }
  return (
    <section class="column" aria-label="Edge">
      <a class="back always" href={atRevision.value === undefined ? "#/services" : "#/edges"}>
        {atRevision.value === undefined ? "‹ All services" : "‹ All edges"}
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
      <Failed error={edge.error} again={edge.again} />
      {edge.value && service && atRevision.value === undefined && (
        <>
          <ServiceFacts service={service} description={description}>
            {kind && edge.value.routes.length > 0 && (
              <span>
                <button type="button" class="tiny" onClick={() => setProtects(true)}>
                  {service?.access === "everyone" ? "Protect …" : "Change …"}
                </button>
              </span>
            )}
          </ServiceFacts>
          <EdgeState edge={edge.value} description={description} />
        </>
      )}
      {protects && edge.value && kind && (
        <Protect
          name={nameOf(edge.value)}
          kind={kind}
          parents={[id]}
          parts={inOrder(edge.value.routes)
            .toReversed()
            .map((route) => ({ id: route.id, label: route.match }))}
          isHttp
          description={description}
          onClose={() => setProtects(false)}
        />
      )}
      {adds && kind && (
        <Edit
          kind={kind}
          description={description}
          parents={[id]}
          first={{ match_type: "path_prefix", match: "/" }}
          onDone={() => setAdds(false)}
        />
      )}
      {edge.value && all.length === 0 && !adds && (
        <div class="empty">
          <p>A route sets the access rules and the destination for a path. Without a route, every request gets 404.</p>
          {atRevision.value === undefined && (
            <button type="button" class="primary" onClick={() => setAdds(true)}>
              Add the first route
            </button>
          )}
        </div>
      )}
      {all.length > routesAtOnce && (
        <ListFilter
          label="Filter routes"
          placeholder={`Part of a path, of ${all.length} routes`}
          value={text}
          onText={setText}
        />
      )}
      {kind &&
        [...asked, ...fitting.slice(0, shows)].map(({ route, place: at }) => (
          <Route
            key={route.id}
            place={at}
            route={route}
            kind={kind}
            description={description}
            isOpen={routeId === undefined ? all.length === 1 : route.id === routeId}
          />
        ))}
      {fitting.length > shows && (
        <button type="button" onClick={() => setShows(shows + routesAtOnce)}>
          Show more routes
        </button>
      )}
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

/** Returns the name of an edge, or its description if it has no name. */
function nameOf({ hostports }: HTTPSEdge): string {
  return hostports?.join(", ") || "no name yet";
}
