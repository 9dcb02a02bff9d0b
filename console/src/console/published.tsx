/** A published service: remaining steps, test, denied requests, and rollback. */
import { useState } from "preact/hooks";
import type { HTTPSEdge } from "../../../sdk/src/index.ts";
import { Command, Tag } from "../ui/elements.tsx";
import { clockText, statusTone } from "../ui/format.ts";
import { curlWithAuthority } from "../ui/shell.ts";
import { postern } from "./api.ts";
import { Back } from "./history.tsx";
import { trafficChanges, useEvery } from "./live-changes.ts";
import { Failed, Head } from "./parts.tsx";
import { goTo, linkTo, place } from "./router.ts";
import { useData } from "./use-data.ts";
import { StartAgent } from "./publish/start-agent.tsx";

const everyMs = 2_000;

export function Published({ edgeId }: { readonly edgeId: string }) {
  const [asked, setAsked] = useState(0);
  const [goesBack, setGoesBack] = useState(false);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const edge = useData(() => postern.edges.https.get(edgeId), [edgeId]);
  const backend = useData(async () => edge.value && (await backendOf(edge.value)), [edge.value, asked]);
  const host = (edge.value?.hostports?.[0] ?? "").replace(/:443$/, "");
  // Requests are stored with their host but without the port.
  const name = host.replace(/:\d+$/, "");
  const requests = useData(
    async () => (name === "" ? [] : (await postern.requests.list({ limit: 5, text: name }).page()).items),
    [name, trafficChanges.value],
  );
  const url = `https://${host}`;
  const isServed = (backend.value?.tunnels.length ?? 0) > 0;
  const { query } = place.value;
  const revision = Number(query.get("revision"));
  const answered = requests.value?.some(({ outcome }) => outcome === "forwarded") ?? false;
  const came = (requests.value?.length ?? 0) > 0;
  if (!edge.value) return <Failed error={edge.error} again={edge.again} />;
  return (
    <section class="column narrow-form" aria-label="Published">
      <Head title={host === "" ? "Published" : host}>
        <Tag tone={isServed ? "good" : "warn"}>{isServed ? "served" : "waiting for an agent"}</Tag>
      </Head>
      <ol class="panel checklist" aria-live="polite">
        <Step
          number={1}
          isDone={isServed}
          title={
            isServed
              ? "An agent is online"
              : query.get("machine") === "here"
                ? "Wait for the server's own agent"
                : "Start an agent for your service"
          }
        >
          {backend.value && <StartAgent labels={backend.value.labels} isServed={isServed} />}
        </Step>
        <Step number={2} isDone={came} title="Send a request">
          <span>
            <a class="button" href={url} target="_blank" rel="noreferrer">
              Open {host} ↗
            </a>
          </span>
          <span class="muted small">
            If your browser warns about the certificate, trust this server&apos;s certificate authority:{" "}
            <code>npx postern ca --install</code> makes this machine trust it. Or use a terminal:
          </span>
          <Command text={curlWithAuthority(url)} />
        </Step>
        <Step number={3} isDone={came} title={came ? "Requests and decisions" : "See requests and decisions"}>
          <Failed error={requests.error} />
          {!came && <span class="muted">Requests appear here when they end.</span>}
          <ul class="came">
            {requests.value?.map((one) => (
              <li key={one.id} class="arrives">
                <a href={linkTo("traffic", one.id)} class="row">
                  <Tag tone={statusTone(one.status_code)}>{one.status_code}</Tag>
                  <span class="mono cut">{`${one.method} ${one.path}`}</span>
                  <span class="small cut grow">
                    {one.steps.findLast(({ outcome }) => outcome === "denied")?.reason ?? one.outcome}
                  </span>
                  <span class="muted small figures">{clockText(new Date(one.ended_at))}</span>
                </a>
              </li>
            ))}
          </ul>
          {came && !answered && isServed && (
            <span class="muted small">Choose a request to see each step, and how to allow it.</span>
          )}
        </Step>
      </ol>
      <div class="row">
        <a class="button" href={linkTo("edges", edgeId)}>
          Open the service
        </a>
        <a class="button" href="#/traffic">
          Watch traffic
        </a>
        <span class="grow" />
        {revision > 0 && (
          <button type="button" class="danger" onClick={() => setGoesBack(true)}>
            Undo all of it …
          </button>
        )}
      </div>
      {goesBack && (
        <Back
          revision={revision - 1}
          onClose={(isDone) => {
            setGoesBack(false);
            if (isDone) goTo("overview");
          }}
        />
      )}
    </section>
  );
}

interface StepProps {
  readonly number: number;
  readonly isDone: boolean;
  readonly title: string;
  readonly children: preact.ComponentChildren;
}

/** One item of a list of steps. */
export function Step({ number, isDone, title, children }: StepProps) {
  return (
    <li class={isDone ? "done" : ""}>
      <span class="tick" role="img" aria-label={isDone ? "done" : "to do"}>
        {isDone ? "✓" : number}
      </span>
      <div class="column">
        <strong>{title}</strong>
        {children}
      </div>
    </li>
  );
}

/** Returns the backend of the first route that leads to agents by labels. */
async function backendOf({ routes }: HTTPSEdge) {
  for (const { backend } of routes) {
    // A backend of another kind is not in this list.
    const found = backend && (await postern.backends.tunnelGroup.get(backend.backend.id).catch(() => undefined));
    if (found) return found;
  }
  return undefined;
}
