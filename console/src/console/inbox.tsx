/** Webhooks in inboxes: what waits, what failed and why, and what to do with it. */
import { useEffect, useState } from "preact/hooks";
import type { InboxMessage } from "../../../sdk/src/index.ts";
import { Tag } from "../ui/elements.tsx";
import { clockText } from "../ui/format.ts";
import { explainError, postern } from "./api.ts";
import { Backlog } from "./inbox-backlog.tsx";
import { Comparison } from "./inbox-payload.tsx";
import type { Description } from "./description.ts";
import { Message } from "./inbox-message.tsx";
import { useEvery } from "./live-changes.ts";
import { Failed, Head, ListFilter } from "./parts.tsx";
import { goTo, place } from "./router.ts";
import { useData, useSettled } from "./use-data.ts";

const states = ["waiting", "blocked", "sending", "dead", "delivered", "refused", "discarded"] as const;
const tones: Readonly<Record<string, "good" | "bad" | "warn">> = {
  waiting: "warn",
  blocked: "warn",
  sending: "warn",
  dead: "bad",
  refused: "bad",
  delivered: "good",
};
const everyMs = 3_000;

type Verb = "deliver" | "discard";

export function Inbox({ description }: { readonly description: Description }) {
  const [state, setState] = useState(place.value.query.get("state") ?? "");
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [pages, setPages] = useState(1);
  const [tick, setTick] = useState(0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    setPages(1);
    setChosen(new Set());
  }, [asked, state]);
  useEvery(everyMs, () => setTick((count) => count + 1), []);
  const filter = { ...(state !== "" && { state }), ...(asked !== "" && { text: asked }) };
  const { value, error, again } = useData(() => messagesUpTo(pages, filter), [asked, state, pages, tick]);
  const [id, other] = place.value.rest;
  const toggle = (one: string): void => {
    const next = new Set(chosen);
    if (!next.delete(one)) next.add(one);
    setChosen(next);
  };
  return (
    <section aria-label="Inbox" class={`split ${id === undefined ? "" : "chosen"}`}>
      <div class="side-list">
        <Head title="Inbox" />
        <Backlog tick={tick} />
        <div class="row filters">
          <ListFilter
            class="grow"
            label="Filter webhooks"
            placeholder="Path, event type, address, id"
            value={text}
            onText={setText}
          />
          <select aria-label="State" value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="">All states</option>
            {states.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </div>
        <Actions filter={filter} chosen={chosen} done={again} />
        <Failed error={error} again={again} />
        {value?.items.length === 0 && <p class="empty">No webhook in an inbox matches.</p>}
        <ul class="requests">
          {value?.items.map((one) => (
            <Row
              key={one.id}
              message={one}
              isOpen={one.id === id}
              isChosen={chosen.has(one.id)}
              onToggle={() => toggle(one.id)}
            />
          ))}
        </ul>
        {value?.more === true && (
          <button type="button" onClick={() => setPages(pages + 1)}>
            Show earlier messages
          </button>
        )}
      </div>
      <div class="side-one">
        {id === undefined ? (
          <p class="empty">Choose a webhook to see its attempts.</p>
        ) : other !== undefined ? (
          <Comparison key={`${id} ${other}`} ids={[id, other]} />
        ) : (
          <Message key={id} id={id} tick={tick} description={description} />
        )}
      </div>
    </section>
  );
}

type Filter = Readonly<Record<string, string>>;

async function messagesUpTo(
  pages: number,
  filter: Filter,
): Promise<{ readonly items: readonly InboxMessage[]; readonly more: boolean }> {
  const items: InboxMessage[] = [];
  let before: string | undefined;
  for (let at = 0; at < pages; at += 1) {
    const page = await postern.inboxMessages
      .list({ limit: 100, ...filter, ...(before !== undefined && { before_id: before }) })
      .page();
    items.push(...page.items);
    before = page.nextBeforeId;
    if (before === undefined) break;
  }
  return { items, more: before !== undefined };
}

interface ActionsProps {
  readonly filter: Filter;
  readonly chosen: ReadonlySet<string>;
  done(): void;
}

/** Delivers or discards the chosen messages, or all that match the filter after a count. */
function Actions({ filter, chosen, done }: ActionsProps) {
  const [asked, setAsked] = useState<{ readonly verb: Verb; readonly count: number }>();
  const [error, setError] = useState("");
  const run = (work: Promise<void>): void =>
    void work.then(
      () => setError(""),
      (failure: unknown) => setError(explainError(failure).message),
    );
  const all = async (verb: Verb, isDryRun: boolean): Promise<number> => {
    const options = { ...filter, dry_run: isDryRun };
    const messages = postern.inboxMessages;
    return (await (verb === "deliver" ? messages.deliverAll(options) : messages.discardAll(options))).count;
  };
  const start = async (verb: Verb): Promise<void> => {
    if (chosen.size === 0) {
      setAsked({ verb, count: await all(verb, true) });
      return;
    }
    for (const id of chosen) await postern.inboxMessages[verb](id);
    done();
  };
  const confirm = async (verb: Verb): Promise<void> => {
    await all(verb, false);
    setAsked(undefined);
    done();
  };
  // The set has the order of the choices: the second webhook is compared with the first.
  const [first, second] = chosen;
  const what = chosen.size === 0 ? "all that match" : `${chosen.size} chosen`;
  return (
    <div class="row">
      {asked === undefined ? (
        (["deliver", "discard"] as const).map((verb) => (
          <button key={verb} type="button" class="tiny" onClick={() => run(start(verb))}>
            {verb === "deliver" ? "Deliver" : "Discard"} {what}
          </button>
        ))
      ) : (
        <>
          <button type="button" class="tiny" onClick={() => run(confirm(asked.verb))}>
            {asked.verb === "deliver" ? "Deliver" : "Discard"} {asked.count} webhooks
          </button>
          <button type="button" class="tiny" onClick={() => setAsked(undefined)}>
            Cancel
          </button>
        </>
      )}
      {first !== undefined && second !== undefined && chosen.size === 2 && (
        <button type="button" class="tiny" onClick={() => goTo(`inbox/${first}/${second}`)}>
          Compare 2 chosen
        </button>
      )}
      <Failed error={error} />
    </div>
  );
}

interface RowProps {
  readonly message: InboxMessage;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  onToggle(): void;
}

function Row({ message, isOpen, isChosen, onToggle }: RowProps) {
  const { id, state, method, path, provider, event_type, received_at } = message;
  return (
    <li class="arrives row pickable">
      <input type="checkbox" aria-label={`Choose ${id}`} checked={isChosen} onChange={onToggle} />
      <button type="button" class="grow" aria-current={isOpen} onClick={() => goTo(`inbox/${id}`)}>
        <Tag tone={tones[state] ?? ""}>{state}</Tag>
        <span class="mono method">{method}</span>
        <span class="mono cut grow" title={path}>
          {path} {[provider, event_type].filter((one) => one !== "").join(" ")}
        </span>
        <span class="small">{clockText(new Date(received_at))}</span>
      </button>
    </li>
  );
}
