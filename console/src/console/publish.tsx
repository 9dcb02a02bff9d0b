/** A service behind an edge, in one step: the name, who may reach it, how they log in, and the command that serves it. */
import { useState } from "preact/hooks";
import type { Plan } from "../../../sdk/src/index.ts";
import { Command, TextInput } from "../ui/elements.tsx";
import { curlWithAuthority } from "../ui/shell.ts";
import { explainError, postern } from "./api.ts";
import type { JsonObject } from "./api.ts";
import { Copies } from "./copies.tsx";
import { Changes } from "./history.tsx";
import { Failed, Head } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

interface Wishes {
  readonly name: string;
  readonly host: string;
  readonly target: string;
  readonly cidrs: string;
  readonly login: "" | "openid" | "github";
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

export function Publish() {
  const [wishes, setWishes] = useState(nothing);
  const [plan, setPlan] = useState<Plan>();
  const [error, setError] = useState("");
  const endpoints = useData(async () => (await postern.endpoints.list({ limit: 1 }).page()).items, []);
  const host = wishes.host || hostFor(wishes.name, endpoints.value?.[0]?.public_url);
  const document = documentOf({ ...wishes, host });
  const set = (change: Partial<Wishes>): void => {
    setWishes({ ...wishes, ...change });
    setPlan(undefined);
  };
  const attempt = async (work: () => Promise<Plan>): Promise<void> => {
    try {
      setPlan(await work());
      setError("");
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError([message, ...Object.entries(fields).map(([path, text]) => `${path} ${text}`)].join("; "));
    }
  };
  if (plan?.applied) return <Done plan={plan} wishes={{ ...wishes, host }} />;
  const text = (name: keyof Wishes, label: string, help: string, shown = wishes[name] as string) => (
    <div class="field">
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
    <section class="column" aria-label="Publish a service">
      <Head
        title="Publish a service"
        doc="A name of yours in front of a port of yours, with rules for who may pass. Nothing is changed before you have seen what would be."
      />
      <form
        class="panel inside column"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(() => postern.plan(document as never));
        }}
      >
        <div class="two">
          {text("name", "Name", "What you call it: lower-case letters, digits and -.")}
          {text("target", "Your service", "A port, or a URL that the agent reaches.")}
        </div>
        {text("host", "Public name and port", "Below localhost it leads to this machine by itself.", host)}
        {text(
          "cidrs",
          "Who may reach it",
          "Addresses or ranges, separated by spaces, such as 192.0.2.0/24; empty: everybody.",
        )}
        <div class="field">
          <label for="publish-login">Log in with</label>
          <select
            id="publish-login"
            value={wishes.login}
            onChange={(event) => set({ login: event.currentTarget.value as Wishes["login"] })}
          >
            <option value="">nothing</option>
            <option value="openid">an OpenID Connect provider</option>
            <option value="github">GitHub</option>
          </select>
          <span class="muted small">
            The development provider of `npm start -- --sso dev` is one of OpenID Connect, too.
          </span>
        </div>
        {wishes.login !== "" && (
          <div class="two">
            {wishes.login === "openid" && text("issuer", "Issuer", "Its address, such as https://login.example.com.")}
            {text("clientId", "Client id", "What the provider calls this application.")}
            {text("clientSecret", "Client secret", "Kept sealed.")}
          </div>
        )}
        <div class="row">
          <Copies method="POST" path="/apply" body={document} yaml={JSON.stringify(document, undefined, 2)} />
          <span class="grow" />
          <button type="submit" class="primary">
            Review …
          </button>
        </div>
      </form>
      <Failed error={error} />
      {plan && (
        <section class="panel inside column" aria-label="What would change">
          <h2>What would change</h2>
          <Changes changes={plan.changes} />
          <div class="row">
            <span class="grow" />
            <button
              type="button"
              class="primary"
              onClick={() =>
                void attempt(() =>
                  postern.apply(document as never, { reason: `publish ${wishes.name}`, waitSeconds: 3 }),
                )
              }
            >
              Apply
            </button>
          </div>
        </section>
      )}
    </section>
  );
}

function Done({ plan, wishes }: { readonly plan: Plan; readonly wishes: Wishes }) {
  const edge = plan.changes.find(({ kind }) => kind === "https_edge");
  return (
    <section class="column" aria-label="Published">
      <Head title="Published" />
      <p class="notice good">
        Done, as revision {plan.revision}. Nothing serves it yet: this does, beside your service.
      </p>
      <Command text={`npx postern http ${wishes.target} --label service=${wishes.name}`} />
      <p>
        Then open <a href={`https://${wishes.host}`} target="_blank" rel="noreferrer">{`https://${wishes.host}`}</a>,
        or: <Command text={curlWithAuthority(`https://${wishes.host}`)} />
      </p>
      <p class="row">
        {edge && (
          <a class="button" href={linkTo("edges", edge.id)}>
            See the edge
          </a>
        )}
        <a class="button" href="#/traffic">
          Watch traffic
        </a>
        <a class="button" href="#/history">
          Undo it in the history
        </a>
      </p>
    </section>
  );
}

/** Beside the URL that there is already. */
function hostFor(name: string, url: string | undefined): string {
  const known = URL.parse(url ?? "");
  if (!known || !known.hostname.includes(".")) return `${name}.localhost:443`;
  return `${name}.${known.hostname.slice(known.hostname.indexOf(".") + 1)}:${known.port || "443"}`;
}

function documentOf({ name, host, cidrs, login, issuer, clientId, clientSecret }: Wishes): JsonObject {
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
          ...(login === "openid" && { oidc: { issuer, ...client, scopes: ["openid", "email", "profile"] } }),
          ...(login === "github" && { oauth: { provider: { github: client } } }),
        },
      },
      ...(ranges.length > 0 && {
        ip_policy: { [`${name}-visitors`]: { description: `who may reach ${name}` } },
        ip_policy_rule: Object.fromEntries(
          ranges.map((cidr, at) => [`${name}-${at + 1}`, { ip_policy_id: `${name}-visitors`, cidr, action: "allow" }]),
        ),
      }),
    },
  };
}
