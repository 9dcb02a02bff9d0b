/** The form of a protection. It is the same for a new service and for an existing one. */
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
  ["Everybody", ""],
  ["Only this machine", "127.0.0.0/8 ::1/128"],
  ["Private networks", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"],
  ["Not me, to see a denial", "192.0.2.0/24"],
];

/** Selects the login of a sentence: "who signs in with …". */
export function LoginSelect({ value, development, onChange }: Pick<Props, "value" | "development" | "onChange">) {
  return (
    <select
      aria-label="How visitors log in"
      value={value.login}
      onChange={(event) => onChange({ login: event.currentTarget.value as Login })}
    >
      {logins
        .filter(([login]) => login !== "development" || development)
        .map(([login, name]) => (
          <option key={login} value={login}>
            {name}
          </option>
        ))}
    </select>
  );
}

export function RangeFields({ value, faults, onChange }: Omit<Props, "development">) {
  return (
    <div class="field">
      <label for="protect-ranges">Who has access</label>
      <div class="row" role="group" aria-label="Usual choices">
        {usualRanges.map(([name, ranges]) => (
          <button
            type="button"
            class="tiny"
            key={name}
            aria-pressed={value.ranges === ranges}
            onClick={() => onChange({ ranges })}
          >
            {name}
          </button>
        ))}
      </div>
      <TextInput
        id="protect-ranges"
        type="text"
        autocomplete="off"
        placeholder="all addresses"
        aria-invalid={faults.ranges !== undefined}
        value={value.ranges}
        onText={(ranges) => onChange({ ranges })}
      />
      <Hint fault={faults.ranges} help="Addresses or ranges, separated by spaces. All other addresses are denied." />
    </div>
  );
}

export function LoginFields({ value, development, faults, onChange }: Props) {
  const { login } = value;
  const text = (name: keyof Protection, label: string, help: string, placeholder = "") => (
    <div class="field grow">
      <label for={`protect-${name}`}>{label}</label>
      <TextInput
        id={`protect-${name}`}
        type={name === "clientSecret" || name === "password" ? "password" : "text"}
        autocomplete="off"
        placeholder={placeholder}
        aria-invalid={faults[name] !== undefined}
        value={value[name]}
        onText={(given) => onChange({ [name]: given })}
      />
      <Hint fault={faults[name]} help={help} />
    </div>
  );
  if (login === "") return null;
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
            hasDomains(login) ? "Empty: the app that the server's operator set up." : "From the provider.",
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
