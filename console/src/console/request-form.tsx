/** Fields that describe a request that is not sent. */
import { TextArea, TextInput } from "../ui/elements.tsx";

export interface RequestDraft {
  readonly method: string;
  readonly path: string;
  readonly source: string;
  /** One header field per line. */
  readonly fields: string;
  readonly email: string;
}

export const nothingDescribed: RequestDraft = { method: "GET", path: "/", source: "", fields: "", email: "" };

/** Returns the request in the API's format. */
export function toDescribedRequest({ method, path, source, fields, email }: RequestDraft) {
  const headers = fields
    .split("\n")
    .filter((line) => line.includes(":"))
    .map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()] as const);
  return {
    method,
    path,
    headers: Object.fromEntries(headers),
    ...(source !== "" && { source_ip: source }),
    ...(email !== "" && { as: { email } }),
  };
}

interface RequestFieldsProps {
  readonly value: RequestDraft;
  onChange(value: RequestDraft): void;
}

export function RequestFields({ value, onChange }: RequestFieldsProps) {
  const set = (change: Partial<RequestDraft>): void => onChange({ ...value, ...change });
  return (
    <>
      <div class="row">
        <TextInput
          aria-label="Method"
          class="mono"
          size={7}
          value={value.method}
          onText={(method) => set({ method })}
        />
        <TextInput aria-label="Path" class="mono grow" value={value.path} onText={(path) => set({ path })} />
      </div>
      <div class="row">
        <TextInput
          aria-label="Source address"
          placeholder="from: your own address"
          value={value.source}
          onText={(source) => set({ source })}
        />
        <TextInput
          aria-label="Logged in as"
          placeholder="logged in as: no one"
          value={value.email}
          onText={(email) => set({ email })}
        />
      </div>
      <TextArea
        aria-label="Headers"
        rows={3}
        placeholder="name: value, one per line"
        value={value.fields}
        onText={(fields) => set({ fields })}
      />
    </>
  );
}
