import type { ApiObject } from "./api.ts";
import { valueText } from "./parts.tsx";

/** Returns the text by which people recognise an object. */
export function labelOf(object: ApiObject): string {
  const names = [
    "description",
    "name",
    "domain",
    "hostports",
    "cidr",
    "url",
    "labels",
    "match",
    "email",
    "metadata",
    "public_url",
    "forwards_to",
  ];
  for (const name of names) {
    const value = object[name];
    if (value === undefined || value === null || value === "") continue;
    if (Array.isArray(value) && value.length > 0) return value.join(", ");
    if (typeof value === "string") return value;
    if (typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0) {
      return Object.entries(value)
        .map(([key, one]) => `${key}=${valueText(one)}`)
        .join(", ");
    }
  }
  const { ip, os } = object;
  return typeof ip === "string" && typeof os === "string" ? `${os} at ${ip}` : object.id;
}
