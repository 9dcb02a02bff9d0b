/** Shows and changes who may reach a service: addresses, IP policies and a login. The same for every kind of service. */
import { useState } from "preact/hooks";
import { Dialog, Skeleton } from "../../ui/elements.tsx";
import { callOperation, explainError, postern } from "../api.ts";
import type { ApiObject } from "../api.ts";
import type { Description, Kind } from "../description.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";
import { CountryFields } from "./countries.tsx";
import { currentOf, isByPolicy, writeProtection } from "./current.ts";
import type { Current, Deciding } from "./current.ts";
import { LoginFields, LoginSelect, RangeFields } from "./protection-fields.tsx";
import { faultsOf } from "./protection.ts";
import type { Development, Login } from "./protection.ts";

interface Props {
  /** Name of the service for people. */
  readonly name: string;
  /** Kind of the objects with the rules, and the ids in their path before their own. */
  readonly kind: Kind;
  readonly parents?: readonly string[];
  /** The parts of the service with separate rules, such as its routes. */
  readonly parts: readonly { readonly id: string; readonly label: string }[];
  /** Whether visitors send HTTP requests, which a login needs. */
  readonly isHttp: boolean;
  readonly description: Description;
  onClose(): void;
}

export function Protect(props: Props) {
  const { name, kind, parents = [], parts, onClose } = props;
  const [id, setId] = useState(parts[0]?.id ?? "");
  const development = useData(async () => (await postern.loginAddresses()).development_provider, []);
  const current = useData(
    async () => await currentOf((await callOperation(kind.get ?? "", ...parents, id)) as ApiObject, isByPolicy(kind)),
    [id],
  );
  const isLoaded = current.value?.object.id === id && development.value !== undefined;
  return (
    <Dialog title={`Who may reach ${name}`} onClose={onClose}>
      <div class="column">
        {parts.length > 1 && (
          <div class="field">
            <label for="protect-route">Route</label>
            <select id="protect-route" value={id} onChange={(event) => setId(event.currentTarget.value)}>
              {parts.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.label}
                </option>
              ))}
            </select>
          </div>
        )}
        <Failed error={current.error || development.error} again={current.again} />
        {isLoaded && current.value ? (
          <Rules key={id} {...props} id={id} current={current.value} development={development.value ?? undefined} />
        ) : (
          current.error === "" && <Skeleton lines={4} />
        )}
      </div>
    </Dialog>
  );
}

interface RulesProps extends Props {
  readonly id: string;
  readonly current: Current;
  readonly development: Development | undefined;
}

/** Logins that a traffic policy can demand. */
const byPolicy: readonly Login[] = ["", "password", "google", "github", "microsoft", "openid"];

function Rules({ name, kind, parents = [], id, isHttp, current, development, description, onClose }: RulesProps) {
  const [value, setValue] = useState(current.value);
  const [policies, setPolicies] = useState<readonly string[]>(() => current.policies.map((one) => one.id));
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<typeof value>): void => setValue({ ...value, ...change });
  const kept = current.value.login === "kept" ? current.kept : undefined;
  const needsOwnPolicy = value.login === "password" && current.object["traffic_policy"] != null && !isByPolicy(kind);
  const faults = {
    ...faultsOf(value),
    ...(needsOwnPolicy &&
      kept !== "with a password" && {
        user: "This service has a traffic policy. Add a basic-auth action to the policy.",
      }),
  };
  const isSame = JSON.stringify(value) === JSON.stringify(current.value) && policies.length === current.policies.length;
  const isReady = !isSame && Object.keys(faults).length === 0 && !isBusy;
  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      await writeProtection({ kind, parents, id, name }, current, { value, policies }, development, description);
      onClose();
    } catch (failure) {
      setError(explainError(failure).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="column"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void apply();
      }}
    >
      {isHttp && (
        <>
          <div class="field">
            <label>
              Visitors sign in with{" "}
              <LoginSelect
                value={value}
                development={isByPolicy(kind) ? undefined : development}
                kept={kept}
                choices={isByPolicy(kind) ? byPolicy : undefined}
                onChange={set}
              />
            </label>
          </div>
          <LoginFields value={value} development={development} faults={faults} onChange={set} />
        </>
      )}
      <RangeFields
        value={value}
        faults={faults}
        hasPolicies={policies.length > 0}
        onEveryone={() => setPolicies([])}
        onChange={set}
      />
      {!isByPolicy(kind) && <CountryFields value={value} onChange={set} />}
      {current.policies.length > 0 && <Policies all={current.policies} chosen={policies} onChoose={setPolicies} />}
      <Failed error={error} />
      <div class="row actions">
        <span class="muted small grow">{isSame ? "Nothing is changed yet." : "You can undo this in the history."}</span>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!isReady}>
          Apply
        </button>
      </div>
    </form>
  );
}

interface PoliciesProps {
  readonly all: readonly Deciding[];
  readonly chosen: readonly string[];
  onChoose(ids: readonly string[]): void;
}

/** The IP policies that decide about the service. */
function Policies({ all, chosen, onChoose }: PoliciesProps) {
  return (
    <fieldset class="column tight">
      <legend>IP policies</legend>
      {all.map(({ id, name, ranges }) => (
        <label key={id} class="pick">
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={(event) => {
              const isChosen = event.currentTarget.checked;
              onChoose(all.map((one) => one.id).filter((one) => (one === id ? isChosen : chosen.includes(one))));
            }}
          />
          <span>
            <a href={linkTo("objects", "ip_policy", id)}>{name}</a>{" "}
            <span class="muted small">{ranges.join(", ") || "no rule: everyone is denied"}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
