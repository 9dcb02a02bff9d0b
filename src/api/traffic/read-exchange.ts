/**
 * Parses an agent's answer about a captured request. The answer is untrusted, so no refusal or log contains any of it.
 */
import { Refusal } from "../../lib/errors.ts";
import { agentRefusals } from "../../lib/errors/agents.ts";
import { parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ExchangeCommand } from "../../routing/planes/messages.ts";

/** Limits of `src/inspector`, which stores no more. */
const maxBodyBytes = 262_144;
const maxFields = 512;
const maxTextBytes = 131_072;
const maxReplays = 20;
/** Maximum valid date, milliseconds since 1970. */
const maxTime = 8_640_000_000_000_000;

const outcomes = ["open", "complete", "cut", "upgraded", "unreadable"] as const;

export interface KeptBody {
  readonly base64: string;
  /** Total number of transferred bytes. */
  readonly bytes: number;
  /** Whether some of the bytes are missing here. */
  readonly cut: boolean;
  /** Whether the transfer is complete. */
  readonly ended: boolean;
}

export interface KeptField {
  readonly name: string;
  readonly value: string;
}

export interface KeptExchange {
  readonly id: string;
  readonly replayOf: string | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly outcome: (typeof outcomes)[number];
  /** Milliseconds. Undefined if unknown or not finished. */
  readonly durationMs: number | undefined;
  readonly connectedMs: number | undefined;
  readonly firstByteMs: number | undefined;
  readonly edgeMs: number | undefined;
  readonly waitMs: number | undefined;
  readonly request: {
    readonly method: string;
    readonly target: string;
    readonly protocol: string;
    readonly fields: readonly KeptField[];
    readonly body: KeptBody;
  };
  readonly response:
    | {
        readonly status: number;
        readonly protocol: string;
        readonly fields: readonly KeptField[];
        readonly trailers: readonly KeptField[];
        readonly body: KeptBody;
      }
    | undefined;
  readonly replays: readonly { readonly id: string; readonly startedAt: number; readonly status: number | undefined }[];
}

/**
 * Throws the `Refusal` in the agent's answer, or `command_failed` for an invalid answer.
 * @param asked the command; replays have more possible refusals
 */
export function readExchange(text: string, asked: ExchangeCommand["name"]): KeptExchange {
  let answer: JsonObject;
  try {
    answer = parseJsonObject(Buffer.from(text));
  } catch {
    throw refuseUnreadable();
  }
  const refused = agentRefusals.find((name) => name === answer["refused"]);
  if (refused !== undefined && (asked === "replay" || !refused.startsWith("replay_"))) throw new Refusal(refused);
  const exchange = objectOf(answer["exchange"]);
  const request = objectOf(exchange["request"]);
  return {
    id: idOf(exchange["id"]),
    replayOf: exchange["replay_of"] === null ? undefined : idOf(exchange["replay_of"]),
    startedAt: countOf(exchange["started_at"], maxTime),
    outcome: outcomes.find((one) => one === exchange["outcome"]) ?? failRead(),
    durationMs: timeOf(exchange["duration_ms"]),
    connectedMs: timeOf(exchange["connected_ms"]),
    firstByteMs: timeOf(exchange["first_byte_ms"]),
    edgeMs: timeOf(exchange["edge_ms"]),
    waitMs: timeOf(exchange["wait_ms"]),
    request: {
      method: textOf(request["method"]),
      target: textOf(request["target"]),
      protocol: textOf(request["protocol"]),
      fields: fieldsOf(request["fields"]),
      body: bodyOf(request["body"]),
    },
    response: exchange["response"] === null ? undefined : responseOf(objectOf(exchange["response"])),
    replays: listOf(answer["replays"], maxReplays).map((one) => {
      const { id, started_at: startedAt, status } = objectOf(one);
      return {
        id: idOf(id),
        startedAt: countOf(startedAt, maxTime),
        status: status === null ? undefined : statusOf(status),
      };
    }),
  };
}

function responseOf({ status, protocol, fields, trailers, body }: JsonObject): NonNullable<KeptExchange["response"]> {
  return {
    status: statusOf(status),
    protocol: textOf(protocol),
    fields: fieldsOf(fields),
    trailers: fieldsOf(trailers),
    body: bodyOf(body),
  };
}

function bodyOf(value: unknown): KeptBody {
  const { base64, bytes, cut, ended } = objectOf(value);
  if (typeof base64 !== "string" || typeof cut !== "boolean" || typeof ended !== "boolean") throw refuseUnreadable();
  const kept = Buffer.from(base64, "base64");
  if (kept.length > maxBodyBytes || kept.toString("base64") !== base64) throw refuseUnreadable();
  return { base64, bytes: countOf(bytes, Number.MAX_SAFE_INTEGER), cut, ended };
}

function fieldsOf(value: unknown): readonly KeptField[] {
  return listOf(value, maxFields).map((pair) => {
    const [name, value, ...more] = listOf(pair, 2);
    if (more.length > 0) throw refuseUnreadable();
    return { name: textOf(name), value: textOf(value) };
  });
}

function objectOf(value: unknown): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refuseUnreadable();
  return value as JsonObject;
}

function listOf(value: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most) throw refuseUnreadable();
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== "string" || value.length > maxTextBytes) throw refuseUnreadable();
  return value;
}

/** Parses an exchange id in the format of agents. */
function idOf(value: unknown): string {
  if (typeof value !== "string" || !/^[0-9a-f]{16,24}$/.test(value)) throw refuseUnreadable();
  return value;
}

function statusOf(value: unknown): number {
  return countOf(value, 999);
}

function countOf(value: unknown, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) throw refuseUnreadable();
  return value;
}

function timeOf(value: unknown): number | undefined {
  if (value === null) return undefined;
  if (typeof value !== "number" || !(value >= 0) || value > maxTime) throw refuseUnreadable();
  return value;
}

function failRead(): never {
  throw refuseUnreadable();
}

function refuseUnreadable(): Refusal {
  return new Refusal("command_failed", "The agent's answer is invalid.");
}
