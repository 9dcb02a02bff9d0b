import { timestamp } from "./clock.ts";
import { hostOfName } from "./plain-names.ts";

/** What of a tunnel is kept beside the pattern of the text that tells of it. */
export interface TunnelParts {
  readonly id: string;
  /** That it serves, as it was claimed; "" for none. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** What of its session. */
interface SessionParts {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId?: string;
}

/** Parts of the texts that tell of a tunnel, for `Patterns`: with them taken out, those of one service are alike. */
export function partsOfTunnel({ id, name, startedAt }: TunnelParts, session: SessionParts): readonly string[] {
  const own = id.slice(id.lastIndexOf("_") + 1);
  const [label = ""] = hostOfName(name).split(".", 1);
  const at = [String(startedAt), timestamp(startedAt)];
  return [own, ...at, session.id, session.accountId, session.credentialId, session.agentId ?? "", label];
}
