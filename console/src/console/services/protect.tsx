/** Protects a route that exists: addresses, and a login. */
import { useState } from "preact/hooks";
import type { HTTPSEdgeRoute } from "../../../../sdk/src/index.ts";
import { Dialog } from "../../ui/elements.tsx";
import { call, explainError, postern } from "../api.ts";
import type { ApiObject, JsonObject } from "../api.ts";
import type { Description, Kind } from "../description.ts";
import { Failed } from "../parts.tsx";
import { useData } from "../use-data.ts";
import { fieldsOf } from "../writes.ts";
import { accessOf, policiesOf } from "./access.ts";
import { LoginFields, LoginSelect, RangeFields } from "./protection-fields.tsx";
import { faultsOf, loginModules, noProtection, rangeObjects, wordsOf } from "./protection.ts";

interface Props {
  readonly edgeId: string;
  readonly routes: readonly HTTPSEdgeRoute[];
  readonly kind: Kind;
  readonly description: Description;
  onClose(): void;
}

export function Protect({ edgeId, routes, kind, description, onClose }: Props) {
  const [value, setValue] = useState(noProtection);
  const [routeId, setRouteId] = useState(routes[0]?.id ?? "");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const development = useData(async () => (await postern.loginAddresses()).development_provider, []);
  const route = useData(() => postern.edges.https.routes.get(edgeId, routeId), [routeId]);
  const object = route.value as unknown as ApiObject | undefined;
  const hasPolicy = object?.["traffic_policy"] != null;
  const faults = {
    ...faultsOf(value),
    ...(value.login === "password" &&
      hasPolicy && { user: "This route has a traffic policy. Add a basic-auth action to the policy below." }),
  };
  const isNothing = value.login === "" && wordsOf(value.ranges).length === 0;
  const isReady = route.value !== undefined && !isNothing && Object.keys(faults).length === 0;
  const apply = async (): Promise<void> => {
    if (!object) return;
    setBusy(true);
    try {
      const policies = await policiesFor(value.ranges, routeId);
      const patch = {
        ...(value.login !== "" && { oauth: null, oidc: null, saml: null }),
        ...loginModules(value, development.value),
        ...(policies.length > 0 && {
          ip_restriction: {
            ...((fieldsOf(object, kind, description)["ip_restriction"] ?? {}) as JsonObject),
            enabled: true,
            ip_policy_ids: [...policiesOf(object), ...policies],
          },
        }),
      };
      const options = { ifMatch: object, reason: "protect the service", waitSeconds: 2 };
      await call(kind.update ?? "", edgeId, routeId, patch, options);
      onClose();
    } catch (failure) {
      setError(explainError(failure).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Protect this service" onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void apply();
        }}
      >
        {routes.length > 1 && (
          <div class="field">
            <label for="protect-route">Route</label>
            <select id="protect-route" value={routeId} onChange={(event) => setRouteId(event.currentTarget.value)}>
              {routes.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.match}
                </option>
              ))}
            </select>
          </div>
        )}
        {object && <p class="muted">{`Today, the route lets in: ${accessOf(object)}.`}</p>}
        <RangeFields value={value} faults={faults} onChange={(change) => setValue({ ...value, ...change })} />
        <div class="row">
          <span>Visitors sign in with</span>
          <LoginSelect
            value={value}
            development={development.value}
            onChange={(change) => setValue({ ...value, ...change })}
          />
        </div>
        <LoginFields
          value={value}
          development={development.value}
          faults={faults}
          onChange={(change) => setValue({ ...value, ...change })}
        />
        <Failed error={error || route.error} />
        <div class="row actions">
          <span class="muted small grow">You can undo this in the history.</span>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isReady || isBusy}>
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Creates an IP policy with the ranges. It has no effect until the route uses it. */
async function policiesFor(ranges: string, routeId: string): Promise<readonly string[]> {
  const name = `addresses-${Date.now().toString(36)}`;
  const objects = rangeObjects(name, ranges);
  if (Object.keys(objects).length === 0) return [];
  const document = { document: `console-${routeId}-${name}`, objects };
  const made = await postern.apply(document as never, { reason: "protect the service", waitSeconds: 2 });
  return made.changes.filter(({ kind }) => kind === "ip_policy").map(({ id }) => id);
}
