/** Publishes a service in one sentence: address, port and machine, who may use it, and how they log in. */
import { Check, Circle, X } from "lucide";
import { useState } from "preact/hooks";
import type { Plan } from "../../../../sdk/src/index.ts";
import { TextInput } from "../../ui/elements.tsx";
import { Icon } from "../../ui/icon.tsx";
import { explainError, postern } from "../api.ts";
import { Copies } from "../copies.tsx";
import { Changes } from "../history.tsx";
import { configurationChanges } from "../live-changes.ts";
import { Failed, Head } from "../parts.tsx";
import { goTo } from "../router.ts";
import { CountryFields } from "../services/countries.tsx";
import { Hint, LoginFields, LoginSelect, RangeFields } from "../services/protection-fields.tsx";
import { hasDomains, logins, wordsOf } from "../services/protection.ts";
import { useData, useSettled } from "../use-data.ts";
import { documentOf, hostBeside, nameOf, noWishes, wishFaults } from "./wishes.ts";
import type { Machine, Protocol, Wishes } from "./wishes.ts";

/** What the server says about the described service. */
interface ServiceCheck {
  /** The document that was tried. */
  readonly text: string;
  readonly plan?: Plan;
  readonly message?: string;
  readonly fields: Readonly<Record<string, string>>;
}

export function Publish() {
  const [given, setGiven] = useState(noWishes);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const endpoints = useData(async () => (await postern.endpoints.list({ limit: 1 }).page()).items, []);
  const found = useData(async () => (await postern.loginAddresses()).development_provider, []);
  const development = found.value;
  const machine: Machine = development || given.machine !== "here" ? given.machine : "agent";
  const host = given.host || hostBeside(endpoints.value?.[0]?.public_url, given.protocol);
  const wishes: Wishes = { ...given, host, machine };
  const set = (change: Partial<Wishes>): void => setGiven({ ...given, ...change });
  const own = wishFaults(wishes);
  const isWhole = Object.keys(own).length === 0;
  const document = documentOf(wishes, development ?? undefined);
  const text = JSON.stringify(document);
  const settled = useSettled(isWhole && found.value !== undefined ? text : "");
  const tried = useData(() => verdictOf(settled), [settled, configurationChanges.value]);
  const verdict = isWhole && tried.value?.text === text ? tried.value : undefined;
  const faults = { ...(verdict && placeFaults(verdict)), ...own };
  const plan = verdict?.plan;
  const isTaken =
    plan !== undefined && plan.changes.some(({ kind, action }) => kind.endsWith("_edge") && action !== "create");
  const isReady = plan !== undefined && plan.changes.length > 0 && !isTaken && !isBusy;
  const isHttp = wishes.protocol === "https";
  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      const made = await postern.apply(document as never, { reason: `publish ${nameOf(host)}`, waitSeconds: 3 });
      const edge = made.changes.find(({ kind }) => kind.endsWith("_edge"));
      const told = new URLSearchParams({ target: wishes.target, machine, revision: String(made.revision) });
      if (edge)
        goTo(`${edge.kind === "https_edge" ? "publish" : `services/${edge.kind}`}/${edge.id}?${told.toString()}`);
    } catch (failure) {
      setError(explainError(failure).message);
      setBusy(false);
    }
  };
  return (
    <section class="column narrow-form publish-page" aria-label="Publish a service">
      <Head
        title="Publish a service"
        doc="Describe the service in one sentence. Nothing changes before you apply it."
      />
      <form
        class="panel column publish"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void apply();
        }}
      >
        <div class="sentence">
          <span class="joined">
            <select
              aria-label="Protocol"
              value={wishes.protocol}
              onChange={(event) => set({ protocol: event.currentTarget.value as Protocol })}
            >
              <option value="https">https://</option>
              <option value="tls">tls://</option>
              <option value="tcp">tcp://</option>
            </select>
            <TextInput
              id="publish-host"
              aria-label="Public name and port"
              aria-invalid={faults.host !== undefined}
              autocomplete="off"
              value={host}
              onText={(name) => set({ host: name })}
            />
          </span>
          <span>→ port</span>
          <TextInput
            id="publish-target"
            class="port"
            aria-label="Your port"
            aria-invalid={faults.target !== undefined}
            autocomplete="off"
            value={wishes.target}
            onText={(target) => set({ target })}
          />
          <span>on</span>
          <select
            aria-label="Machine"
            value={machine}
            onChange={(event) => set({ machine: event.currentTarget.value as Machine })}
          >
            {development && <option value="here">this machine</option>}
            <option value="agent">a machine with an agent</option>
            <option value="new">a new machine</option>
          </select>
          <span>
            for <strong>{audienceOf(wishes)}</strong>
          </span>
          {isHttp && (
            <>
              <span>{wishes.login === "" ? "with" : "who signs in with"}</span>
              <LoginSelect value={wishes} development={development ?? undefined} onChange={set} />
            </>
          )}
        </div>
        {(faults.host ?? faults.target) !== undefined && <Hint fault={faults.host ?? faults.target} help="" />}
        {isHttp && <LoginFields value={wishes} development={development ?? undefined} faults={faults} onChange={set} />}
        <RangeFields value={wishes} faults={faults} onChange={set} />
        <CountryFields value={wishes} onChange={set} />
        <ul class="checks" aria-label="Checks" aria-live="polite">
          <Item
            state={own.host !== undefined || faults.host !== undefined || isTaken ? "bad" : plan ? "good" : "open"}
            text={
              isTaken ? `A service named ${nameOf(host)} exists. Choose another name.` : `The address ${host} is free`
            }
          />
          <Item
            state={own.target === undefined ? "good" : "bad"}
            text={
              machine === "here"
                ? `The server's own agent serves port ${wishes.target}`
                : machine === "agent"
                  ? "The next page shows the command for the agent"
                  : "The next page shows the command that connects the machine"
            }
          />
          <Item
            state={
              isHttp && Object.keys(own).some((name) => !["host", "target", "ranges"].includes(name)) ? "bad" : "good"
            }
            text={loginText(wishes)}
          />
          <Item
            state={verdict?.message !== undefined ? "bad" : plan ? "good" : "open"}
            text={verdict?.message ?? "The server accepts the service"}
          />
        </ul>
        <Failed error={error || tried.error} />
        <div class="row">
          <span class="grow" />
          <button type="submit" class="primary" disabled={!isReady}>
            Apply
          </button>
        </div>
      </form>
      <details class="panel">
        <summary>Details: changes and API call</summary>
        <div class="inside column">
          <span>
            <Copies method="POST" path="/apply" body={document} yaml={JSON.stringify(document, undefined, 2)} />
          </span>
          {plan ? (
            <section class="column" aria-label="Planned changes">
              <Changes changes={plan.changes} />
            </section>
          ) : (
            <p class="muted">The changes appear here when the sentence is complete.</p>
          )}
        </div>
      </details>
    </section>
  );
}

function Item({ state, text }: { readonly state: "good" | "bad" | "open"; readonly text: string }) {
  const label = { good: "fulfilled", bad: "not fulfilled", open: "being checked" }[state];
  return (
    <li class={state}>
      <span role="img" aria-label={label}>
        <Icon of={{ good: Check, bad: X, open: Circle }[state]} />
      </span>
      {text}
    </li>
  );
}

function audienceOf({ protocol, login, domains, ranges, countries }: Wishes): string {
  const people = protocol === "https" && hasDomains(login) && wordsOf(domains).length > 0;
  const who = people ? `everyone at ${wordsOf(domains).join(", ")}` : "everyone";
  const places = [wordsOf(ranges).length > 0 && "addresses", wordsOf(countries).length > 0 && "countries"].filter(
    Boolean,
  );
  return places.length > 0 ? `${who} from the ${places.join(" and ")} below` : who;
}

function loginText({ protocol, login }: Wishes): string {
  if (protocol !== "https" || login === "") return "Visitors do not log in";
  return `Visitors log in with ${logins.find(([one]) => one === login)?.[1] ?? login}`;
}

/** Asks the server what it would change. */
async function verdictOf(text: string): Promise<ServiceCheck> {
  if (text === "") return { text, fields: {} };
  try {
    return { text, plan: await postern.plan(JSON.parse(text) as never), fields: {} };
  } catch (failure) {
    const { message, fields } = explainError(failure);
    return { text, message: Object.values(fields)[0] ?? message, fields };
  }
}

/** Returns the server's faults at the fields of the sentence. */
function placeFaults({ fields }: ServiceCheck): Partial<Record<keyof Wishes, string>> {
  const places: readonly (readonly [part: RegExp, field: keyof Wishes])[] = [
    [/hostports/, "host"],
    [/cidr/, "ranges"],
    [/client_id/, "clientId"],
    [/client_secret/, "clientSecret"],
    [/issuer/, "issuer"],
    [/metadata_url/, "metadataUrl"],
    [/email_domains/, "domains"],
  ];
  return Object.fromEntries(
    Object.entries(fields).flatMap(([path, fault]) => {
      const field = places.find(([part]) => part.test(path))?.[1];
      return field ? [[field, fault]] : [];
    }),
  );
}
