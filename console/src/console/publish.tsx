/** Publishes a service behind an edge in one step: name, access, login, and the command of the agent. */
import { useState } from "preact/hooks";
import type { LoginAddresses, Plan } from "../../../sdk/src/index.ts";
import { Dialog, TextInput } from "../ui/elements.tsx";
import { explainError, postern } from "./api.ts";
import type { JsonObject } from "./api.ts";
import { Copies } from "./copies.tsx";
import { Changes } from "./history.tsx";
import { Failed, Head } from "./parts.tsx";
import { go } from "./router.ts";
import { useData } from "./use-data.ts";

interface Wishes {
  readonly name: string;
  readonly host: string;
  readonly target: string;
  readonly cidrs: string;
  readonly login: "" | "development" | "openid" | "github";
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const nothing: Wishes = {
  name: "my-service",
  host: "",
  target: "3000",
  cidrs: "",
  login: "",
  issuer: "",
  clientId: "",
  clientSecret: "",
};

/** Common choices, by name. */
const usualCidrs: readonly (readonly [name: string, cidrs: string])[] = [
  ["Everybody", ""],
  ["Only this machine", "127.0.0.0/8 ::1/128"],
  ["Private networks", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"],
  ["Not me, to see a denial", "192.0.2.0/24"],
];

export function Publish() {
  const [wishes, setWishes] = useState(nothing);
  const [plan, setPlan] = useState<Plan>();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const endpoints = useData(async () => (await postern.endpoints.list({ limit: 1 }).page()).items, []);
  const development = useData(async () => (await postern.loginAddresses()).development_provider, []);
  const host = wishes.host || hostFor(wishes.name, endpoints.value?.[0]?.public_url);
  const document = documentOf({ ...wishes, host }, development.value);
  const set = (change: Partial<Wishes>): void => setWishes({ ...wishes, ...change });
  const attempt = async (work: () => Promise<Plan>): Promise<Plan | undefined> => {
    setBusy(true);
    try {
      const made = await work();
      setError("");
      return made;
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError([message, ...Object.entries(fields).map(([path, text]) => `${path} ${text}`)].join("; "));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  const review = async (): Promise<void> => setPlan(await attempt(() => postern.plan(document as never)));
  const apply = async (): Promise<void> => {
    const reason = `publish ${wishes.name}`;
    const made = await attempt(() => postern.apply(document as never, { reason, waitSeconds: 3 }));
    const edge = made?.changes.find(({ kind }) => kind === "https_edge");
    if (!made || !edge) return;
    const told = new URLSearchParams({ target: wishes.target, revision: String(made.revision) });
    go(`publish/${edge.id}?${told.toString()}`);
  };
  const text = (name: keyof Wishes, label: string, help: string, shown = wishes[name] as string) => (
    <div class="field grow">
      <label for={`publish-${name}`}>{label}</label>
      <TextInput
        id={`publish-${name}`}
        type={name === "clientSecret" ? "password" : "text"}
        autocomplete="off"
        value={shown}
        onText={(text) => set({ [name]: text })}
      />
      <span class="muted small">{help}</span>
    </div>
  );
  return (
    <section class="column narrow-form" aria-label="Publish a service">
      <Head
        title="Publish a service"
        doc="Publish a port of yours at a public name, with access rules. You see all changes before they are made."
      />
      <form
        class="panel inside column"
        onSubmit={(event) => {
          event.preventDefault();
          void review();
        }}
      >
        <div class="two">
          {text("name", "Name", "Name of the service: lower-case letters, digits and -.")}
          {text("target", "Your service", "Port of the service, or its URL.")}
        </div>
        {text("host", "Public name and port", "Names below localhost resolve to this machine.", host)}
        <div class="field">
          <label for="publish-cidrs">Who has access</label>
          <div class="row" role="group" aria-label="Usual choices">
            {usualCidrs.map(([name, cidrs]) => (
              <button
                type="button"
                class="tiny"
                key={name}
                aria-pressed={wishes.cidrs === cidrs}
                onClick={() => set({ cidrs })}
              >
                {name}
              </button>
            ))}
          </div>
          <TextInput
            id="publish-cidrs"
            type="text"
            autocomplete="off"
            placeholder="everybody"
            value={wishes.cidrs}
            onText={(cidrs) => set({ cidrs })}
          />
          <span class="muted small">Addresses or ranges, separated by spaces. All other addresses are denied.</span>
        </div>
        <div class="field">
          <label for="publish-login">How visitors log in</label>
          <select
            id="publish-login"
            value={wishes.login}
            onChange={(event) => set({ login: event.currentTarget.value as Wishes["login"] })}
          >
            <option value="">no login</option>
            {development.value && <option value="development">by clicking a name (for tests on this machine)</option>}
            <option value="openid">with an OpenID Connect provider</option>
            <option value="github">with GitHub</option>
          </select>
          {development.value === null && (
            <span class="muted small">
              To log in by clicking a name, for tests, start the server with <code>npx postern dev</code>.
            </span>
          )}
          {wishes.login === "development" && (
            <span class="muted small">
              The development provider at {development.value?.issuer} lets visitors choose any identity. It is reachable
              only on this machine.
            </span>
          )}
        </div>
        {(wishes.login === "openid" || wishes.login === "github") && (
          <div class="two">
            {wishes.login === "openid" &&
              text("issuer", "Issuer", "URL of the provider, such as https://login.example.com.")}
            {text("clientId", "Client id", "Client id of this application at the provider.")}
            {text("clientSecret", "Client secret", "Kept sealed.")}
          </div>
        )}
        {!plan && <Failed error={error} />}
        <div class="row">
          <Copies method="POST" path="/apply" body={document} yaml={JSON.stringify(document, undefined, 2)} />
          <span class="grow" />
          <button type="submit" class="primary" disabled={isBusy}>
            Review …
          </button>
        </div>
      </form>
      {plan && (
        <Dialog title={`Publish ${wishes.name} at ${host}`} onClose={() => setPlan(undefined)}>
          <section class="column" aria-label="Planned changes">
            <Failed error={error} />
            <p>{plan.changes.length > 0 ? "All changes are made together, and you can undo them together." : ""}</p>
            <Changes changes={plan.changes} />
            <div class="row actions">
              <span class="grow" />
              <button type="button" onClick={() => setPlan(undefined)}>
                Back
              </button>
              <button
                type="button"
                class="primary"
                disabled={isBusy || plan.changes.length === 0}
                onClick={() => void apply()}
              >
                Apply
              </button>
            </div>
          </section>
        </Dialog>
      )}
    </section>
  );
}

/** Returns a host beside the existing URL. */
function hostFor(name: string, url: string | undefined): string {
  const known = URL.parse(url ?? "");
  if (!known || !known.hostname.includes(".")) return `${name}.localhost:443`;
  return `${name}.${known.hostname.slice(known.hostname.indexOf(".") + 1)}:${known.port || "443"}`;
}

function documentOf(
  { name, host, cidrs, login, issuer, clientId, clientSecret }: Wishes,
  development: LoginAddresses["development_provider"] | undefined,
): JsonObject {
  const ranges = cidrs.split(/[\s,]+/).filter((one) => one !== "");
  const client = { client_id: clientId, client_secret: clientSecret };
  return {
    document: `console-${name}`,
    objects: {
      tunnel_group_backend: { [`${name}-agents`]: { description: name, labels: { service: name } } },
      https_edge: { [name]: { description: name, hostports: [host] } },
      https_edge_route: {
        [`${name}-all`]: {
          edge_id: name,
          match_type: "path_prefix",
          match: "/",
          backend: { backend_id: `${name}-agents` },
          ...(ranges.length > 0 && { ip_restriction: { ip_policy_ids: [`${name}-visitors`] } }),
          ...(login === "development" &&
            development && { oidc: { ...development, scopes: ["openid", "email", "profile"] } }),
          ...(login === "openid" && { oidc: { issuer, ...client, scopes: ["openid", "email", "profile"] } }),
          ...(login === "github" && { oauth: { provider: { github: client } } }),
        },
      },
      ...(ranges.length > 0 && {
        ip_policy: { [`${name}-visitors`]: { description: `access to ${name}` } },
        ip_policy_rule: Object.fromEntries(
          ranges.map((cidr, at) => [`${name}-${at + 1}`, { ip_policy_id: `${name}-visitors`, cidr, action: "allow" }]),
        ),
      }),
    },
  };
}
