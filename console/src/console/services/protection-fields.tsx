/** The form of a protection. It is the same for a new service and for an existing one. */
import { useState } from "preact/hooks";
import { TextInput } from "../../ui/elements.tsx";
import { hasDomains, logins } from "./protection.ts";
import type { Development, Login, Protection } from "./protection.ts";

interface Props {
  readonly value: Protection;
  readonly development: Development | undefined;
  /** Sentences for invalid fields. */
  readonly faults: Partial<Record<keyof Protection, string>>;
  onChange(change: Partial<Protection>): void;
}

/** Common choices, by name. */
const usualRanges: readonly (readonly [name: string, ranges: string])[] = [
  ["Everyone", ""],
  ["Only this machine", "127.0.0.0/8 ::1/128"],
  ["Private networks", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"],
  ["No one, to try a denial", "192.0.2.0/24"],
];

/** Selects the login of a sentence: "who signs in with …". */
export function LoginSelect({
  value,
  development,
  kept,
  choices,
  onChange,
}: Pick<Props, "value" | "development" | "onChange"> & {
  /** The login that stays, in words. */
  readonly kept?: string | undefined;
  /** Logins that are possible; default: all. */
  readonly choices?: readonly Login[] | undefined;
}) {
  return (
    <select
      aria-label="How visitors log in"
      value={value.login}
      onChange={(event) => onChange({ login: event.currentTarget.value as Login })}
    >
      {kept !== undefined && <option value="kept">{`as before: ${kept}`}</option>}
      {logins
        .filter(([login]) => (login !== "development" || development) && choices?.includes(login) !== false)
        .map(([login, name]) => (
          <option key={login} value={login}>
            {name}
          </option>
        ))}
    </select>
  );
}

/** Where visitors come from. Further rules about places, such as countries, belong here. */
export function RangeFields({
  value,
  faults,
  hasPolicies = false,
  onEveryone,
  onChange,
}: Omit<Props, "development"> & {
  /** Whether IP policies allow addresses, too. */
  readonly hasPolicies?: boolean;
  /** Called besides the change when everyone gets access. */
  onEveryone?(): void;
}) {
  return (
    <div class="field">
      <label for="protect-ranges">Who has access</label>
      <div class="row" role="group" aria-label="Usual choices">
        {usualRanges.map(([name, ranges]) => (
          <button
            type="button"
            class="tiny"
            key={name}
            aria-pressed={value.ranges === ranges && (ranges !== "" || !hasPolicies)}
            onClick={() => {
              onChange({ ranges });
              if (ranges === "") onEveryone?.();
            }}
          >
            {name}
          </button>
        ))}
      </div>
      <TextInput
        id="protect-ranges"
        type="text"
        autocomplete="off"
        placeholder={hasPolicies ? "the addresses of the IP policies below" : "all addresses"}
        aria-invalid={faults.ranges !== undefined}
        value={value.ranges}
        onText={(ranges) => onChange({ ranges })}
      />
      <Hint fault={faults.ranges} help="Addresses or ranges, separated by spaces. All other addresses are denied." />
    </div>
  );
}

type TextField = Exclude<keyof Protection, "blocksCountries">;

export function LoginFields({ value, development, faults, onChange }: Props) {
  const { login } = value;
  // An empty field is wrong only after the user has left it.
  const [left, setLeft] = useState<readonly string[]>([]);
  const faultOf = (name: TextField): string | undefined =>
    value[name] !== "" || left.includes(name) ? faults[name] : undefined;
  const text = (name: TextField, label: string, help: string, placeholder = "") => (
    <div class="field grow" onFocusOut={() => setLeft([...left, name])}>
      <label for={`protect-${name}`}>{label}</label>
      <TextInput
        id={`protect-${name}`}
        type={name === "clientSecret" || name === "password" ? "password" : "text"}
        autocomplete="off"
        placeholder={placeholder}
        aria-invalid={faultOf(name) !== undefined}
        value={value[name]}
        onText={(given) => onChange({ [name]: given })}
      />
      <Hint fault={faultOf(name)} help={help} />
    </div>
  );
  if (login === "" || login === "kept") return null;
  if (login === "development") {
    return (
      <p class="muted small">
        {`The development provider at ${development?.issuer ?? ""} lets visitors choose any identity. Only this machine can reach it.`}
      </p>
    );
  }
  return (
    <div class="two">
      {hasDomains(login) &&
        text(
          "domains",
          "Only people at",
          "E-mail domains, separated by spaces. Empty: everyone with an account.",
          "acme.com",
        )}
      {login === "openid" && text("issuer", "Issuer", "URL of the provider.", "https://login.example.com")}
      {login === "saml" &&
        text("metadataUrl", "Metadata URL", "Address of the identity provider's metadata.", "https://…/metadata")}
      {login === "password" && text("user", "User", "Name that visitors enter.")}
      {login === "password" && text("password", "Password", "8 to 128 characters.")}
      {(login === "openid" || hasDomains(login)) && (
        <>
          {text(
            "clientId",
            "Client ID",
            hasDomains(login)
              ? "Empty: the app that the operator of the server set up, or as before."
              : "From the provider.",
          )}
          {text("clientSecret", "Client secret", "From the provider. Postern stores it encrypted.")}
        </>
      )}
    </div>
  );
}

/** Shows the error of a field, or a hint. */
export function Hint({ fault, help }: { readonly fault: string | undefined; readonly help: string }) {
  return fault === undefined ? (
    <span class="muted small">{help}</span>
  ) : (
    <span class="fault" role="alert">
      {fault}
    </span>
  );
}
