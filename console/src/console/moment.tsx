/** Times that people compare with the present: `5 minutes ago`, `in 3 days`, `never used`. */
import { Tag } from "../ui/elements.tsx";
import { agoText, timeText } from "../ui/format.ts";
import type { Json } from "./api.ts";

/** Fields with such times. */
export const moments: ReadonlySet<string> = new Set(["last_used_at", "expires_at", "last_login_at"]);

const absent: Readonly<Record<string, string>> = {
  last_used_at: "never used",
  expires_at: "never",
  last_login_at: "never",
};
const soonMs = 7 * 86_400_000;

export function Moment({ name, at }: { readonly name: string; readonly at: Json | undefined }) {
  if (typeof at !== "string" || at === "") return <span class="muted">{absent[name]}</span>;
  const time = new Date(at);
  const text = (
    <time dateTime={at} title={`${timeText(time)} (${at} UTC)`}>
      {agoText(time)}
    </time>
  );
  const leftMs = time.getTime() - Date.now();
  if (name !== "expires_at" || leftMs > soonMs) return text;
  return <Tag tone={leftMs <= 0 ? "bad" : "warn"}>{text}</Tag>;
}
