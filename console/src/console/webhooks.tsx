/** Sends a sample webhook, signed like the provider's, and shows the edge's result. */
import { useState } from "preact/hooks";
import type { Explanation, HTTPSEdge, SignedWebhook } from "../../../sdk/src/index.ts";
import { Copy, TextArea, TextInput } from "../ui/elements.tsx";
import { renderCurl, curlHeader, pipeTo, quoteForShell, withAuthority } from "../ui/shell.ts";
import { explainError, postern } from "./api.ts";
import { bodyOf } from "./description.ts";
import type { Description } from "./description.ts";
import { edgesWith } from "./edge-pages.ts";
import { Answer } from "./explain.tsx";
import { Failed, Head } from "./parts.tsx";
import { useData } from "./use-data.ts";

export function Webhooks({ description }: { readonly description: Description }) {
  const [pages, setPages] = useState(1);
  const edges = useData(() => edgesWith(["webhook_verification"], pages), [pages]);
  const places = placesOf(edges.value?.items ?? []);
  const providers = bodyOf(description.api, "signWebhook").properties?.["provider"]?.enum ?? [];
  const [place, setPlace] = useState("");
  const [provider, setProvider] = useState("");
  const [secret, setSecret] = useState("");
  const [body, setBody] = useState('{"event":"test"}');
  const [source, setSource] = useState("");
  const [isTampered, setTampered] = useState(false);
  const [answer, setAnswer] = useState<{ readonly told: Explanation; readonly sample: SignedWebhook }>();
  const [error, setError] = useState("");
  const chosen = places.find((one) => one.key === place) ?? places[0];
  const by = provider || chosen?.provider || "github";
  const ask = async (): Promise<void> => {
    if (!chosen) return;
    try {
      const url = `https://${chosen.host}${chosen.match}`;
      const signed = await postern.webhooks.sign({
        provider: by as "github",
        secret: secret || chosen.secret,
        url,
        body,
      });
      const sample = isTampered ? { ...signed, body: `${signed.body} ` } : signed;
      const { pathname, search } = new URL(sample.url);
      const headers = Object.fromEntries(sample.headers.map(({ name, value }) => [name, value]));
      const described = { method: "POST", path: pathname + search, headers, body: sample.body };
      const from = source === "" ? {} : { source_ip: source };
      setAnswer({ told: await postern.edges.https.explain(chosen.edgeId, { ...described, ...from }), sample });
      setError("");
    } catch (failure) {
      setAnswer(undefined);
      const { message, fields } = explainError(failure);
      setError([message, ...Object.values(fields)].join("; "));
    }
  };
  return (
    <section class="column" aria-label="Webhooks">
      <Head
        title="Webhooks"
        doc="The console signs a sample as the provider would, and the edge checks it. The service does not receive the sample."
      />
      <Failed error={edges.error} again={edges.again} />
      {edges.value && places.length === 0 && (
        <div class="empty">
          <p>No route verifies webhooks. Set the module Webhook verification on a route of an edge.</p>
          <a class="button primary" href="#/edges">
            Edges
          </a>
        </div>
      )}
      {edges.value?.more === true && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          Load routes of more edges
        </button>
      )}
      {chosen && (
        <form
          class="panel inside column"
          onSubmit={(event) => {
            event.preventDefault();
            void ask();
          }}
        >
          <div class="two">
            <div class="field">
              <label for="webhook-place">Route</label>
              <select id="webhook-place" value={chosen.key} onChange={(event) => setPlace(event.currentTarget.value)}>
                {places.map((one) => (
                  <option key={one.key} value={one.key}>
                    {one.host}
                    {one.match} ({one.provider})
                  </option>
                ))}
              </select>
            </div>
            <div class="field">
              <label for="webhook-provider">Signed as</label>
              <select id="webhook-provider" value={by} onChange={(event) => setProvider(event.currentTarget.value)}>
                {providers.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </div>
          </div>
          <div class="field">
            <label for="webhook-secret">Secret</label>
            <TextInput
              id="webhook-secret"
              type="password"
              autocomplete="off"
              placeholder={chosen.secret === "" ? "" : "the route's own"}
              value={secret}
              onText={setSecret}
            />
          </div>
          <div class="field">
            <label for="webhook-body">Body</label>
            <TextArea id="webhook-body" rows={4} spellcheck={false} value={body} onText={setBody} />
          </div>
          <div class="row">
            <label class="row">
              <input
                type="checkbox"
                checked={isTampered}
                onChange={(event) => setTampered(event.currentTarget.checked)}
              />
              changed in transit
            </label>
            <span class="grow" />
            <TextInput
              aria-label="Source address"
              placeholder="from: your own address"
              value={source}
              onText={setSource}
            />
            <button type="submit" class="primary">
              Sign and check
            </button>
          </div>
        </form>
      )}
      <Failed error={error} />
      {answer && (
        <section class="column" aria-label="Verdict">
          <Answer answer={answer.told} description={description} />
          <h2>Signed content</h2>
          <div class="diff">
            {answer.sample.headers.map(({ name, value }) => (
              <div key={name}>{`${name}: ${value}`}</div>
            ))}
          </div>
          <div class="row">
            <Copy text={() => curlOf(answer.sample)} kind="tiny">
              Copy as curl
            </Copy>
            <Copy text={sendCommand(by, body, answer.sample.url)} kind="tiny">
              CLI
            </Copy>
            <span class="muted small">
              These commands send the webhook. The CLI takes the secret from <code>WEBHOOK_SECRET</code>.
            </span>
          </div>
        </section>
      )}
    </section>
  );
}

function curlOf({ url, headers, body }: SignedWebhook): string {
  const fields = headers.map(({ name, value }) => curlHeader(name, value));
  return withAuthority(renderCurl(url, "POST", [...fields, `--data-raw ${quoteForShell(body)}`]));
}

function sendCommand(provider: string, body: string, url: string): string {
  const send = `npx postern webhook send ${provider} --secret "$WEBHOOK_SECRET"`;
  // A body that begins with "@" would name a file.
  if (body.startsWith("@")) return pipeTo(body, `${send} --data @- ${quoteForShell(url)}`);
  return `${send} --data ${quoteForShell(body)} ${quoteForShell(url)}`;
}

interface WebhookPlace {
  readonly key: string;
  readonly edgeId: string;
  readonly host: string;
  readonly match: string;
  readonly provider: string;
  /** "" for users who may not see it. */
  readonly secret: string;
}

function placesOf(edges: readonly HTTPSEdge[]): readonly WebhookPlace[] {
  return edges.flatMap(({ id, hostports, routes }) =>
    routes.flatMap((route) => {
      const check = route.webhook_verification;
      if (!check) return [];
      const host = (hostports?.[0] ?? "").replace(/:443$/, "").replace(/^\*\./, "any.");
      const secret = /^\*+$/.test(check.secret) ? "" : check.secret;
      return [{ key: route.id, edgeId: id, host, match: route.match, provider: check.provider, secret }];
    }),
  );
}
