/** First steps on a new server. */
import { Command } from "../../ui/elements.tsx";
import { curlWithAuthority } from "../../ui/shell.ts";
import { Step } from "../published.tsx";
import { linkTo } from "../router.ts";

interface ChecklistProps {
  readonly url: string | undefined;
  readonly hasSeen: boolean;
  /** Id of the published edge. */
  readonly edgeId: string | undefined;
  readonly hasDenied: boolean;
}

/** Steps for a new server. */
export function Checklist({ url, hasSeen, edgeId, hasDenied }: ChecklistProps) {
  const hasOwn = edgeId !== undefined;
  return (
    <section class="panel" aria-label="First steps">
      <header>
        <h2>First steps</h2>
      </header>
      <ol class="checklist">
        <Step number={1} isDone={hasSeen} title="See a service answer">
          {url === undefined ? (
            <>
              <span class="muted">Nothing is published yet. To publish the service on port 3000:</span>
              <Command text="npx postern http 3000" />
            </>
          ) : (
            <>
              <span>
                <a class="button" href={url} target="_blank" rel="noreferrer">
                  Open {url.replace("https://", "")} ↗
                </a>
              </span>
              <span class="muted small">
                If your browser warns about the certificate, trust this server&apos;s certificate authority:{" "}
                <code>npx postern ca --install</code> makes this machine trust it. Or use a terminal:
              </span>
              <Command text={curlWithAuthority(url)} />
            </>
          )}
        </Step>
        <Step number={2} isDone={hasOwn} title="Publish your own port with access rules">
          <span>Choose a name, who has access, and how visitors log in.</span>
          <span>
            {hasOwn ? (
              <a class="button" href={linkTo("publish", edgeId)}>
                Continue
              </a>
            ) : (
              <a class="button primary" href="#/publish">
                Publish a service
              </a>
            )}
          </span>
        </Step>
        <Step number={3} isDone={hasDenied} title="See why a request was denied, and allow it">
          <span>
            <a href="#/traffic">Traffic</a> shows the decision for each request; <a href="#/history">History</a> undoes
            any change.
          </span>
        </Step>
      </ol>
    </section>
  );
}
