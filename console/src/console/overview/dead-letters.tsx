/** Webhooks of inboxes whose last attempt failed. */
import { Tag, Time } from "../../ui/elements.tsx";
import { postern } from "../api.ts";
import { trafficChanges } from "../live-changes.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";

const shown = 6;

export function DeadLetters() {
  const { value, error, again } = useData(async () => {
    const [inboxes, newest] = await Promise.all([
      postern.inboxes.list().all(),
      postern.inboxMessages.list({ state: "dead", limit: shown }).page(),
    ]);
    return { count: inboxes.reduce((sum, one) => sum + one.dead, 0), newest: newest.items };
  }, [Math.floor(trafficChanges.value / 5)]);
  if ((value === undefined || value.newest.length === 0) && error === "") return null;
  return (
    <section class="panel" aria-label="Dead webhooks">
      <header>
        <h2 class="grow">Dead webhooks</h2>
        <a href="#/inbox?state=dead">All {value?.count}</a>
      </header>
      <Failed error={error} again={again} />
      <ul class="plain-list">
        {value?.newest.map(({ id, method, path, status_code: status, error: failure, received_at: at }) => (
          <li key={id} class="row">
            <a class="grow cut mono" href={linkTo("inbox", id)}>
              {method} {path}
            </a>
            <Tag tone="bad">{status ?? failure ?? "no answer"}</Tag>
            <span class="muted small">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
