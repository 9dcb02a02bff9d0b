/**
 * What the server must know of a client after its first message. The client returns it with each request as its session
 * id, so that the server stores nothing about clients. It grants no rights: each request is authenticated by its key.
 */
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../lib/json.ts";

export interface McpClient {
  /** Name and version as the client gives them, cleaned and bounded. */
  readonly name: string;
  /** Whether the client can ask its user for a confirmation. */
  readonly asks: boolean;
}

/** Versions of the protocol, newest first. */
export const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Versions that have elicitation. */
const asking: ReadonlySet<string> = new Set(["2025-11-25", "2025-06-18"]);

/** Maximum length of a client's name and of its version, characters. */
const maxNameLength = 48;
const maxVersionLength = 24;
/** Maximum length of a session id, characters. */
const maxIdLength = 512;

export const unknownClient: McpClient = { name: "unknown", asks: false };

/** Returns the version to use: that of the client if it is supported, or else the newest one. */
export function agreeVersion(wanted: unknown): string {
  return protocolVersions.find((version) => version === wanted) ?? protocolVersions[0];
}

/** Reads the parameters of `initialize`. */
export function clientOf(params: JsonObject): McpClient {
  const { name, version } = objectOf(params["clientInfo"]);
  const { elicitation } = objectOf(params["capabilities"]);
  const shown = [cleanName(name, maxNameLength), cleanName(version, maxVersionLength)].filter((one) => one !== "");
  return {
    name: shown.join(" ") || unknownClient.name,
    asks: isForm(elicitation) && asking.has(agreeVersion(params["protocolVersion"])),
  };
}

/** An empty capability means forms. */
function isForm(elicitation: unknown): boolean {
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return Object.keys(elicitation).length === 0 || "form" in elicitation;
}

/** Returns the session id of a client: random, so that it is unique. */
export function sessionIdOf({ name, asks }: McpClient): string {
  const content = JSON.stringify([name, asks, randomBytes(9).toString("base64url")]);
  return Buffer.from(content).toString("base64url");
}

/** Returns the client of a session id, or undefined for a text that is no session id. */
export function clientOfSession(id: string): McpClient | undefined {
  if (id.length > maxIdLength) return undefined;
  try {
    const [name, asks, random] = JSON.parse(Buffer.from(id, "base64url").toString("utf8")) as readonly unknown[];
    if (typeof name !== "string" || typeof asks !== "boolean" || typeof random !== "string") return undefined;
    return { name: cleanName(name, maxNameLength + 1 + maxVersionLength), asks };
  } catch {
    return undefined;
  }
}

/** Returns the name that a person has confirmed, in the form of other names. */
export function nameOf(confirmed: string): string {
  return cleanName(confirmed, maxNameLength) || unknownClient.name;
}

/** Only letters, digits and common signs remain, so that the name cannot contain instructions on several lines. */
function cleanName(text: unknown, max: number): string {
  if (typeof text !== "string") return "";
  const plain = text.slice(0, 4 * max).replaceAll(/[^\p{L}\p{N} ._/@+-]/gu, "");
  return plain.trim().slice(0, max).toWellFormed();
}

export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
