/** Logins: values to register at providers, a test login, and logged-in visitors. */
import { useState } from "preact/hooks";
import type { ApplicationSession, HTTPSEdge, HTTPSEdgeRoute } from "../../../sdk/src/index.ts";
import { Copy, Tag, Time } from "../ui/elements.tsx";
import { explainError, postern } from "./api.ts";
import { titleOf } from "./description.ts";
import { edgesWith } from "./edge-pages.ts";
import { useEvery } from "./live-changes.ts";
import { Failed, Head } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

const everyMs = 5_000;

export function Logins() {
  const [pages, setPages] = useState(1);
  const edges = useData(() => edgesWith(loginModules, pages), [pages]);
  const places = (edges.value?.items ?? []).flatMap(placesOf);
  const [tried, setTried] = useState<{ readonly place: LoginPlace; readonly since: number }>();
  return (
    <section class="column" aria-label="Logins">
      <Head
        title="Logins"
        doc="Routes that require a login, the values to register at their providers, and the current logins."
      >
        <a class="button" href={linkTo("objects", "application_user")}>
          Users
        </a>
      </Head>
      <Failed error={edges.error} again={edges.again} />
      {edges.value && places.length === 0 && (
        <div class="empty">
          <p>No route requires a login. Set OAuth, OIDC or SAML on a route of an edge.</p>
          <a class="button primary" href="#/edges">
            Edges
          </a>
        </div>
      )}
      <ul class="cards wide">
        {places.map((one) => (
          <Provider key={one.route.id + one.module} place={one} onTry={(since) => setTried({ place: one, since })} />
        ))}
      </ul>
      {edges.value?.more === true && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          More
        </button>
      )}
      {tried && <Trial key={tried.since} place={tried.place} since={tried.since} />}
      <Sessions />
    </section>
  );
}

const loginModules = ["oauth", "oidc", "saml"] as const;

interface LoginPlace {
  readonly host: string;
  readonly edgeId: string;
  readonly route: HTTPSEdgeRoute;
  readonly module: (typeof loginModules)[number];
}

function placesOf({ id, hostports, routes }: HTTPSEdge): readonly LoginPlace[] {
  const host = (hostports?.[0] ?? "").replace(/:443$/, "");
  return routes.flatMap((route) =>
    loginModules
      .filter((module) => route[module] !== null && route[module] !== undefined)
      .map((module) => ({ host, edgeId: id, route, module })),
  );
}

function Provider({ place, onTry }: { readonly place: LoginPlace; onTry(since: number): void }) {
  const { host, edgeId, route, module } = place;
  const addresses = useData(() => addressesOf(place), [route.id, module]);
  return (
    <li class="panel">
      <span class="row">
        <a class="grow" href={linkTo("edges", edgeId, route.id)}>
          <strong>
            {host}
            {route.match}
          </strong>
        </a>
        <Tag tone={route[module]?.enabled === false ? "" : "info"}>{titleOf(module)}</Tag>
      </span>
      <span class="muted small">{providerOf(place)}</span>
      <Failed error={addresses.error} />
      <dl class="addresses small">
        {addresses.value?.map(([name, address]) => [
          <dt key={`${name}n`}>{name}</dt>,
          <dd key={`${name}v`} class="row">
            <code class="grow wrap">{address}</code>
            <Copy text={address} label={`Copy the ${name.toLowerCase()}`}>
              Copy
            </Copy>
          </dd>,
        ])}
      </dl>
      {!host.startsWith("*") && (
        <a
          class="button"
          href={`https://${host}/.postern/login?path=${encodeURIComponent(route.match)}`}
          target="_blank"
          rel="noreferrer"
          onClick={() => onTry(Date.now())}
        >
          Try a login ↗
        </a>
      )}
    </li>
  );
}

function providerOf({ route, module }: LoginPlace): string {
  if (module === "oidc") return route.oidc?.issuer ?? "";
  if (module === "saml") return route.saml?.idp_metadata_url || "metadata given";
  const [name] = Object.entries(route.oauth?.provider ?? {}).find(([, value]) => value !== null) ?? [""];
  return titleOf(name);
}

/** Returns names and addresses as providers' forms label them. */
async function addressesOf({ route, module }: LoginPlace): Promise<readonly (readonly [string, string])[]> {
  if (module === "saml") {
    const { saml } = route;
    return [
      ["Entity ID", saml?.entity_id ?? ""],
      ["ACS URL", saml?.assertion_consumer_service_url ?? ""],
      ["Single logout URL", saml?.single_logout_url ?? ""],
      ["Metadata", saml?.metadata_url ?? ""],
    ];
  }
  const issuer = module === "oidc" ? route.oidc?.issuer : undefined;
  const told = await postern.loginAddresses(issuer === undefined ? {} : { issuer });
  return [
    ["Redirect URI", told.redirect_uri],
    ...(told.post_logout_redirect_uri === null
      ? []
      : [["Post-logout redirect URI", told.post_logout_redirect_uri] as const]),
    ...(told.backchannel_logout_uri === null
      ? []
      : [["Back-channel logout URI", told.backchannel_logout_uri] as const]),
  ];
}

/** A test login in another tab: shows the resulting session, or the reason why the login failed. */
function Trial({ place, since }: { readonly place: LoginPlace; readonly since: number }) {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const isLater = (at: string): boolean => Date.parse(at) >= since - 1_000;
  const found = useData(async () => {
    const sessions = await postern.app.sessions.list({ limit: 20 }).page();
    return sessions.items.find((one) => one.route?.id === place.route.id && isLater(one.created_at));
  }, [asked]);
  const refused = useData(async () => {
    const { items } = await postern.requests.list({ limit: 50 }).page();
    const isAboutLogins = (reason: string): boolean => /log|sign/i.test(reason);
    return items.find(
      (one) =>
        one.outcome === "denied" &&
        isLater(one.ended_at) &&
        one.steps.some((step) => step.outcome === "denied" && (step.by === place.module || isAboutLogins(step.reason))),
    );
  }, [asked]);
  const claims = found.value?.claims;
  return (
    <section class="panel" aria-label="The tested login">
      <header>
        <h2 class="grow">
          A login at {place.host}
          {place.route.match}
        </h2>
        <Tag tone={claims ? "good" : refused.value ? "bad" : "info"}>
          {claims ? "logged in" : refused.value ? "refused" : "waiting"}
        </Tag>
      </header>
      <div class="inside column" role="status">
        {claims ? (
          <>
            <p>The provider returned:</p>
            <dl class="pairs">
              {Object.entries(claims).map(([name, value]) => [
                <dt key={`${name}n`}>{titleOf(name)}</dt>,
                <dd key={`${name}v`}>{Array.isArray(value) ? value.join(", ") : String(value ?? "")}</dd>,
              ])}
            </dl>
          </>
        ) : refused.value ? (
          <p>
            {refused.value.steps.findLast(({ outcome }) => outcome === "denied")?.reason}.{" "}
            <a href={linkTo("traffic", refused.value.id)}>Show all</a>
          </p>
        ) : (
          <p>Log in in the other tab. The provider's answer appears here.</p>
        )}
        <Failed error={found.error || refused.error} />
      </div>
    </section>
  );
}

function Sessions() {
  const [asked, setAsked] = useState(0);
  const [error, setError] = useState("");
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const sessions = useData(() => postern.app.sessions.list({ limit: 50 }).page(), [asked]);
  const items = sessions.value?.items ?? [];
  const end = async ({ id }: ApplicationSession): Promise<void> => {
    try {
      await postern.app.sessions.delete(id, { waitSeconds: 2 });
      setError("");
    } catch (failure) {
      setError(explainError(failure).message);
    }
    sessions.again();
  };
  return (
    <section class="panel" aria-label="Current logins">
      <header>
        <h2 class="grow">Current logins</h2>
        <a href={linkTo("objects", "application_session")}>All sessions</a>
      </header>
      <Failed error={error || sessions.error} />
      {sessions.value && items.length === 0 && <p class="inside muted">No logins yet.</p>}
      <ul class="plain-list">
        {items.map((one) => (
          <li key={one.id} class="row">
            <a class="grow cut" href={linkTo("objects", "application_session", one.id)}>
              {one.claims.email || one.claims.name || one.claims.subject || one.id}
            </a>
            <span class="muted small cut">{one.public_url}</span>
            <span class="muted small">
              <Time at={one.last_active ?? one.created_at} />
            </span>
            <button
              type="button"
              class="tiny danger"
              aria-label={`Revoke the session of ${one.claims.email || one.claims.subject}`}
              onClick={() => void end(one)}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
